// Argument checks, before anything runs: a compiled function starts with them.
//
//   assert(input.buffer != null)  rank ...
//   let input.min.0 = ..., input.extent.0 = ..., input.stride.0 = ...
//   if any buffer asks for bounds: write the regions needed into those that ask
//   else: assert types, extents, constraints, regions, sizes, host pointers; then the program
//
// Every message names the pipeline, the argument, what was expected and what came; reads outside an input name the Func
// that reads and its source line.
#include <algorithm>

#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "../schedule/directive.h"
#include "passes.h"

namespace calotype::lower {

using analysis::simplify;
using namespace ir;

namespace {

constexpr int64_t kMostBytes = int64_t(1) << 60;  // of one buffer, gaps included
constexpr int64_t kMostCoordinate = (int64_t(1) << 31) - (1 << 24);

Expr c32(int64_t v) { return make_int(Int(32), v); }
Expr i64(const Expr &e) { return make_cast(Int(64), e); }
Expr null_string() { return make_zero(Handle()); }

class Checker {
public:
  explicit Checker(PassContext &cx) : cx_(cx), pipeline_(make_string(cx.program.name)) {
    for (const LoweredArgument &a : cx.args) add(a);
    for (const ParameterRef &p : cx.embedded) {
      add({LoweredArgument::Kind::InputBuffer, p->name, p->type, p->dimensions, p});
    }
  }

  Stmt wrap(const Stmt &program) {
    Expr empty = nothing_to_do();
    Stmt body = with_in_place_flags(with_hosts(program));
    if (!is_const_zero(empty)) body = make_if(simplify(make_not(empty)), body);
    body = make_block(checks(), body);
    if (!buffers_.empty()) {
      Expr any_query;
      for (const LoweredArgument &b : buffers_) {
        Expr q = make_intrinsic(Bool(), Intrinsic::buffer_is_bounds_query, {handle(b)});
        any_query = any_query.defined() ? make_or(any_query, q) : q;
      }
      body = make_if(any_query, answer_queries(), body);
    }
    for (size_t i = cx_.early_lets.size(); i-- > 0;)
      body = make_let_stmt(cx_.early_lets[i].first, cx_.early_lets[i].second, body);
    for (size_t i = buffers_.size(); i-- > 0;) {
      for (int d = buffers_[i].dimensions; d-- > 0;) body = shape_lets(buffers_[i], d, body);
    }
    return make_block(first_checks(), body);
  }

private:
  void add(const LoweredArgument &a) {
    if (a.kind == LoweredArgument::Kind::InputScalar) {
      scalars_.push_back(a);
    } else {
      buffers_.push_back(a);
    }
  }

  static Expr handle(const LoweredArgument &b) { return make_var(b.name + ".buffer", Handle()); }
  static Expr field(const LoweredArgument &b, const char *what, int d) {
    return make_var(b.name + "." + what + "." + std::to_string(d));
  }
  static Expr raw_field(const LoweredArgument &b, Intrinsic op, int d) {
    return make_intrinsic(Int(32), op, {handle(b), c32(d)});
  }
  Expr name_of(const LoweredArgument &b) const { return make_string(b.name); }

  Stmt check(const Expr &condition, const char *reporter, std::vector<Expr> args) {
    args.insert(args.begin(), {make_string(reporter), pipeline_});
    return make_assert(condition, make_intrinsic(Int(32), Intrinsic::error, std::move(args)));
  }

  Stmt first_checks() {
    std::vector<Stmt> s;
    for (const LoweredArgument &b : buffers_) {
      Expr not_null = make_ne(make_reinterpret(UInt(64), handle(b)), make_uint(UInt(64), 0));
      s.push_back(check(not_null, "calo_error_buffer_null", {name_of(b)}));
      // -1 where there is no array of dimensions
      Expr rank = make_intrinsic(Int(32), Intrinsic::buffer_dimensions, {handle(b)});
      s.push_back(check(make_eq(rank, c32(b.dimensions)), "calo_error_bad_rank",
                        {name_of(b), c32(b.dimensions), rank}));
    }
    return make_block(s);
  }

  // Constant constraints take the place of what the buffer says; the checks make sure that they are equal.
  static Expr constraint(const LoweredArgument &b, Intrinsic op, int d) {
    if (!b.param || static_cast<size_t>(d) >= b.param->dims.size()) return {};
    const DimConstraint &c = b.param->dims[d];
    return op == Intrinsic::buffer_min      ? c.min
           : op == Intrinsic::buffer_extent ? c.extent
                                            : c.stride;
  }

  static Stmt shape_lets(const LoweredArgument &b, int d, Stmt body) {
    const std::pair<const char *, Intrinsic> fields[] = {{"stride", Intrinsic::buffer_stride},
                                                         {"extent", Intrinsic::buffer_extent},
                                                         {"min", Intrinsic::buffer_min}};
    for (auto &[what, op] : fields) {
      Expr fixed = constraint(b, op, d);
      bool constant = fixed.defined() && as_const_int(fixed) && what != std::string("min") &&
                      what != std::string("extent");
      Expr value = constant ? fixed : raw_field(b, op, d);
      body = make_let_stmt(b.name + "." + what + "." + std::to_string(d), value, body);
    }
    return body;
  }

  const analysis::Box *region_of(const LoweredArgument &b) const {
    if (b.kind == LoweredArgument::Kind::InputBuffer) {
      auto it = cx_.input_regions.find(b.name);
      return it == cx_.input_regions.end() ? nullptr : &it->second;
    }
    for (auto &[func, box] : cx_.output_regions) {
      const Function &f = *cx_.program.find(func);
      for (size_t i = 0; i < f.types.size(); i++) {
        if (b.name == (f.types.size() > 1 ? f.name + "." + std::to_string(i) : f.name.str()))
          return &box;
      }
    }
    return nullptr;
  }

  // The answers are computed from the outputs, which are refused as a call that runs refuses them.
  Stmt answer_queries() {
    std::vector<Stmt> all;
    for (const LoweredArgument &b : buffers_) {
      if (b.kind != LoweredArgument::Kind::OutputBuffer) continue;
      check_extents(b, all);
      check_coordinates(b, all);
    }
    for (const LoweredArgument &b : buffers_) {
      std::vector<Stmt> s;
      Expr packed = c32(b.type.code() | b.type.bits() << 8 | 1 << 16);
      s.push_back(make_evaluate(make_intrinsic(Int(32), Intrinsic::buffer_set_type,
                                               {handle(b), packed, c32(b.dimensions)})));
      const analysis::Box *box = region_of(b);
      Expr stride = c32(1);
      for (int d = 0; d < b.dimensions; d++) {
        Expr min = field(b, "min", d), extent = field(b, "extent", d);
        if (box && b.kind == LoweredArgument::Kind::InputBuffer && (*box)[d].bounded()) {
          min = (*box)[d].min;
          extent = simplify(make_sub(make_add((*box)[d].max, c32(1)), min));
        }
        Expr fixed_min = constraint(b, Intrinsic::buffer_min, d),
             fixed_extent = constraint(b, Intrinsic::buffer_extent, d);
        if (fixed_min.defined()) min = fixed_min;
        if (fixed_extent.defined()) extent = fixed_extent;
        Expr fixed_stride = constraint(b, Intrinsic::buffer_stride, d);
        Expr dim_stride = fixed_stride.defined() ? fixed_stride : stride;
        s.push_back(make_evaluate(make_intrinsic(Int(32), Intrinsic::buffer_set_bounds,
                                                 {handle(b), c32(d), min, extent, dim_stride})));
        stride = make_mul(dim_stride, make_max(extent, c32(0)));
      }
      all.push_back(make_if(make_intrinsic(Bool(), Intrinsic::buffer_is_bounds_query, {handle(b)}),
                            make_block(s)));
    }
    return make_block(all);
  }

  Stmt checks() {
    std::vector<Stmt> s;
    for (const LoweredArgument &b : buffers_) {
      check_type(b, s);
      check_extents(b, s);
      check_constraints(b, s);
      check_size(b, s);
      check_coordinates(b, s);
      check_device(b, s);
      check_alignment(b, s);
    }
    for (const Function &f : cx_.program.funcs) {
      for (const schedule::StageState &stage : cx_.state->of(f.name).stages)
        check_factors(f, stage, s);
    }
    Expr empty = nothing_to_do();
    for (const LoweredArgument &b : buffers_) check_region(b, empty, s);
    for (const LoweredArgument &b : buffers_) {
      Expr host = make_intrinsic(Handle(), Intrinsic::buffer_host, {handle(b)});
      Expr present = make_ne(make_reinterpret(UInt(64), host), make_uint(UInt(64), 0));
      s.push_back(check(make_or(empty, present), "calo_error_host_null", {name_of(b)}));
    }
    check_overlap(empty, s);
    check_bounds_of_funcs(empty, s);
    for (const LoweredArgument &a : scalars_) check_scalar(a, s);
    for (const Expr &e : cx_.program.requirements) s.push_back(make_evaluate(e));
    for (const Expr &e : cx_.promises) {
      const Call *c = e.as<Call>();
      std::vector<Expr> args = c->args;
      args[0] = make_or(empty, args[0]);
      s.push_back(make_evaluate(make_intrinsic(c->type, c->op, args)));
    }
    return make_block(s);
  }

  void check_type(const LoweredArgument &b, std::vector<Stmt> &s) {
    Expr expected = c32(b.type.code() | b.type.bits() << 8 | 1 << 16);
    Expr given = make_intrinsic(Int(32), Intrinsic::buffer_type_code, {handle(b)});
    s.push_back(check(make_eq(given, expected), "calo_error_bad_type",
                      {name_of(b), make_cast(UInt(32), expected), make_cast(UInt(32), given)}));
  }

  void check_extents(const LoweredArgument &b, std::vector<Stmt> &s) {
    for (int d = 0; d < b.dimensions; d++) {
      Expr e = raw_field(b, Intrinsic::buffer_extent, d);
      s.push_back(check(make_ge(e, c32(0)), "calo_error_extent_negative", {name_of(b), c32(d), e}));
    }
  }

  // Extents first: a picture of four channels where three are interleaved has another stride too, for that reason.
  void check_constraints(const LoweredArgument &b, std::vector<Stmt> &s) {
    const std::pair<const char *, Intrinsic> fields[] = {{"extent", Intrinsic::buffer_extent},
                                                         {"min", Intrinsic::buffer_min},
                                                         {"stride", Intrinsic::buffer_stride}};
    for (auto &[what, op] : fields) {
      for (int d = 0; d < b.dimensions; d++) {
        Expr fixed = constraint(b, op, d);
        if (!fixed.defined()) continue;
        Expr given = raw_field(b, op, d);
        Expr ok = make_eq(given, fixed);
        if (op == Intrinsic::buffer_stride)
          ok = make_or(ok, make_le(raw_field(b, Intrinsic::buffer_extent, d), c32(1)));
        s.push_back(
            check(ok, "calo_error_constraint",
                  {name_of(b), make_string(what), c32(d), i64(fixed), i64(given), null_string()}));
      }
    }
    schedule_constraints(b, s);
  }

  // bound() and align_bounds() on an output fix its buffer's shape.
  void schedule_constraints(const LoweredArgument &b, std::vector<Stmt> &s) {
    if (b.kind != LoweredArgument::Kind::OutputBuffer) return;
    for (Name out : cx_.program.outputs) {
      const Function &f = *cx_.program.find(out);
      if (b.name != f.name.str() && b.name.compare(0, f.name.str().size() + 1, f.name + ".") != 0)
        continue;
      for (const schedule::Bound &bound : cx_.state->of(out).bounds) {
        for (size_t d = 0; d < f.args.size(); d++) {
          if (f.args[d] != bound.var) continue;
          auto equal = [&](const char *what, const Expr &given, const Expr &fixed) {
            s.push_back(
                check(make_eq(given, fixed), "calo_error_constraint",
                      {name_of(b), make_string(what), c32(static_cast<int64_t>(d)), i64(fixed),
                       i64(given), make_string("the schedule's bound of " + bound.var.str())}));
          };
          Expr min = field(b, "min", static_cast<int>(d)),
               extent = field(b, "extent", static_cast<int>(d));
          if (bound.min.defined()) equal("min", min, bound.min);
          if (bound.extent.defined()) equal("extent", extent, bound.extent);
          if (bound.modulus.defined()) {
            equal("extent", extent, make_mul(make_div(extent, bound.modulus), bound.modulus));
          }
        }
      }
    }
  }

  // Addresses are computed in 64 bits: the span of the buffer in bytes must fit, with room to spare.
  void check_size(const LoweredArgument &b, std::vector<Stmt> &s) {
    if (b.dimensions == 0) return;
    const Expr one = make_int(Int(64), 1), zero = make_int(Int(64), 0);
    const Expr limit = make_int(Int(64), kMostBytes / b.type.bytes());
    Expr span = one;
    for (int d = 0; d < b.dimensions; d++) {  // no sum overflows: each is below 2^60 + 2^62
      Expr stride = i64(raw_field(b, Intrinsic::buffer_stride, d)),
           extent = i64(raw_field(b, Intrinsic::buffer_extent, d));
      span = make_add(span, make_mul(make_max(stride, make_sub(zero, stride)),
                                     make_max(make_sub(extent, one), zero)));
      s.push_back(
          check(make_le(span, limit), "calo_error_buffer_elements", {name_of(b), span, limit}));
    }
  }

  // Coordinates are int32, and regions reach a little beyond the buffer before they are clamped.
  void check_coordinates(const LoweredArgument &b, std::vector<Stmt> &s) {
    for (int d = 0; d < b.dimensions; d++) {
      const std::string dim = "." + std::to_string(d), min_name = b.name + ".min" + dim;
      Expr min = i64(field(b, "min", d)), end = make_add(min, i64(field(b, "extent", d)));
      const Expr low = make_int(Int(64), -kMostCoordinate),
                 high = make_int(Int(64), kMostCoordinate);
      s.push_back(
          check(make_ge(min, low), "calo_error_constraint_expr",
                {make_string(min_name + " >= " + std::to_string(-kMostCoordinate)), min, low}));
      s.push_back(check(make_le(end, high), "calo_error_constraint_expr",
                        {make_string(min_name + " + " + b.name + ".extent" + dim +
                                     " <= " + std::to_string(kMostCoordinate)),
                         end, high}));
    }
  }

  void check_device(const LoweredArgument &b, std::vector<Stmt> &s) {
    Expr dirty = make_extern_call(Bool(), "calo_device_dirty", {handle(b)}, true);
    s.push_back(check(make_not(dirty), "calo_error_device_dirty", {name_of(b)}));
  }

  void check_alignment(const LoweredArgument &b, std::vector<Stmt> &s) {
    const int bytes = std::max(b.type.bytes(), b.param ? b.param->host_alignment : 0);
    if (bytes <= 1) return;
    Expr host =
        make_reinterpret(UInt(64), make_intrinsic(Handle(), Intrinsic::buffer_host, {handle(b)}));
    Expr ok = make_eq(make_mod(host, make_uint(UInt(64), static_cast<uint64_t>(bytes))),
                      make_uint(UInt(64), 0));
    s.push_back(check(ok, "calo_error_unaligned_host", {name_of(b), c32(bytes)}));
  }

  Expr nothing_to_do() const {
    Expr empty = make_bool(true);
    for (const LoweredArgument &b : buffers_) {
      if (b.kind != LoweredArgument::Kind::OutputBuffer) continue;
      Expr this_empty = make_bool(false);
      for (int d = 0; d < b.dimensions; d++) {
        this_empty =
            make_or(this_empty, make_le(raw_field(b, Intrinsic::buffer_extent, d), c32(0)));
      }
      empty = make_and(empty, this_empty);
    }
    return simplify(empty);
  }

  // The Funcs whose definitions mention the image, and where they stand.
  void readers(const std::string &image, std::string *names, std::string *where) const {
    for (const Function &f : cx_.algorithm->funcs) {
      for (const Definition &d : f.definitions) {
        bool reads = false;
        auto look = [&](const Expr &e) {
          for_each_expr(e, [&](const Expr &x) {
            const Call *c = x.as<Call>();
            reads |= c && c->call_type == CallType::Image && c->name == image;
          });
        };
        for (const Expr &e : d.values) look(e);
        for (const Expr &e : d.args) look(e);
        if (d.predicate.defined()) look(d.predicate);
        if (!reads) continue;
        if (where->empty()) *where = to_string(d.loc.defined() ? d.loc : f.loc);
        if (names->find(f.name) == std::string::npos)
          *names += (names->empty() ? "" : ", ") + f.name.str();
      }
    }
  }

  void check_region(const LoweredArgument &b, const Expr &empty, std::vector<Stmt> &s) {
    const analysis::Box *box = region_of(b);
    if (!box) return;
    bool input = b.kind == LoweredArgument::Kind::InputBuffer;
    std::string names, where;
    if (input) readers(b.name, &names, &where);
    for (int d = 0; d < b.dimensions; d++) {
      const analysis::Interval &r = (*box)[d];
      if (!r.bounded()) {
        Diagnostic diag("B0101", {},
                        names + " reads " + b.name + " in dimension " + std::to_string(d) +
                            " without a bound" + (where.empty() ? "" : " (" + where + ")"));
        if (!r.unbounded_because.empty()) diag.why.push_back({r.unbounded_because, {}});
        diag.help.push_back("clamp the index: BoundaryConditions::repeat_edge(" + b.name +
                            "), or clamp(index, low, high)");
        raise(std::move(diag));
      }
      Expr min = field(b, "min", d), max = make_sub(make_add(min, field(b, "extent", d)), c32(1));
      Expr inside = make_and(make_ge(r.min, min), make_le(r.max, max));
      Expr ok = simplify(make_or(make_or(inside, make_lt(r.max, r.min)), empty));
      if (is_const_one(ok)) continue;
      Expr who = input && !names.empty() ? make_string(names) : null_string();
      Expr line = where.empty() ? null_string() : make_string(where);
      const std::string rounded = input ? "" : rounds(b);
      s.push_back(check(ok, "calo_error_out_of_bounds",
                        {name_of(b), c32(d), i64(r.min), i64(r.max), i64(min), i64(max), who, line,
                         rounded.empty() ? null_string() : make_string(rounded)}));
    }
  }

  // Factors that arguments decide must be at least 1, where the state that has them runs. (Code counts those below as 1,
  // so that regions are bounded whatever the number.)
  void check_factors(const Function &f, const schedule::StageState &stage, std::vector<Stmt> &s) {
    Expr elsewhere = make_bool(false);  // another state runs
    for (const Expr &e : stage.assumed) elsewhere = make_or(elsewhere, make_not(e));
    for (const schedule::Specialization &sp : stage.specializations) {
      elsewhere = make_or(elsewhere, sp.condition);
      check_factors(f, sp.state, s);
    }
    if (stage.fails()) return;
    for (const schedule::Relation &r : stage.relations) {
      const Max *at_least_one = r.factor.defined() ? r.factor.as<Max>() : nullptr;
      if (r.kind != schedule::Relation::Kind::Split || !at_least_one) continue;
      const Expr factor = at_least_one->a;
      s.push_back(check(simplify(make_or(elsewhere, make_ge(factor, c32(1)))),
                        "calo_error_split_factor",
                        {make_string(f.name.str()), make_string(r.old.str()), i64(factor)}));
    }
  }

  // What to do where the schedule rounds the extents that are written up; empty if it does not.
  std::string rounds(const LoweredArgument &b) const {
    for (Name out : cx_.program.outputs) {
      const bool of_tuple = b.name.compare(0, out.str().size() + 1, out + ".") == 0;
      if (b.name != out.str() && !of_tuple) continue;
      for (const schedule::StageState *s : schedule::variants_of(cx_.state->of(out).stages[0])) {
        for (const schedule::Relation &r : s->relations) {
          if (r.tail != TailStrategy::RoundUp && r.tail != TailStrategy::RoundUpAndBlend &&
              r.tail != TailStrategy::PredicateLoads)
            continue;
          return "the schedule splits " + r.old + " with " + schedule::tail_name(r.tail) +
                 ", which writes whole blocks: pass an extent that the factor divides, or use "
                 "TailStrategy::Auto";
        }
      }
    }
    return {};
  }

  // [lowest byte, one past the highest byte] of a buffer.
  static std::pair<Expr, Expr> byte_range(const LoweredArgument &b) {
    Expr host = make_cast(
        Int(64),
        make_reinterpret(UInt(64), make_intrinsic(Handle(), Intrinsic::buffer_host, {handle(b)})));
    Expr low = make_int(Int(64), 0), high = low, zero = low;
    for (int d = 0; d < b.dimensions; d++) {
      Expr reach =
          make_mul(i64(raw_field(b, Intrinsic::buffer_stride, d)),
                   make_sub(i64(raw_field(b, Intrinsic::buffer_extent, d)), make_int(Int(64), 1)));
      low = make_add(low, make_min(reach, zero));
      high = make_add(high, make_max(reach, zero));
    }
    Expr bytes = make_int(Int(64), b.type.bytes());
    return {make_add(host, make_mul(low, bytes)),
            make_add(host, make_mul(make_add(high, make_int(Int(64), 1)), bytes))};
  }

  // bound() is a promise about what readers need: they must not need more.
  void check_bounds_of_funcs(const Expr &empty, std::vector<Stmt> &s) {
    for (const Function &f : cx_.program.funcs) {
      auto reads = cx_.bounded_reads.find(f.name);
      if (reads == cx_.bounded_reads.end()) continue;
      for (const schedule::Bound &b : cx_.state->of(f.name).bounds) {
        size_t d =
            static_cast<size_t>(std::find(f.args.begin(), f.args.end(), b.var) - f.args.begin());
        if (d >= f.args.size() || !b.extent.defined() || !reads->second[d].bounded()) continue;
        const analysis::Interval &need = reads->second[d];
        Expr min = b.min.defined() ? b.min : need.min,
             max = make_sub(make_add(min, b.extent), c32(1));
        Expr ok =
            simplify(make_or(make_and(make_le(min, need.min), make_le(need.max, max)), empty));
        if (is_const_one(ok)) continue;
        s.push_back(check(
            ok, "calo_error_explicit_bounds",
            {make_string(f.name), make_string(b.var.str()), i64(min), i64(max), i64(need.min),
             i64(need.max), b.loc.defined() ? make_string(to_string(b.loc)) : null_string()}));
      }
    }
  }

  static Expr apart(const LoweredArgument &a, const LoweredArgument &b) {
    auto [a_low, a_high] = byte_range(a);
    auto [b_low, b_high] = byte_range(b);
    return make_or(make_le(a_high, b_low), make_le(b_high, a_low));
  }

  bool may_share(const LoweredArgument &out, const LoweredArgument &in) const {
    auto it = cx_.in_place.find(out.name);
    return it != cx_.in_place.end() &&
           std::find(it->second.begin(), it->second.end(), in.name) != it->second.end();
  }

  // The same memory, element by element.
  static Expr same_memory(const LoweredArgument &a, const LoweredArgument &b) {
    auto host = [](const LoweredArgument &x) {
      return make_reinterpret(UInt(64),
                              make_intrinsic(Handle(), Intrinsic::buffer_host, {handle(x)}));
    };
    Expr same = make_eq(host(a), host(b));
    for (int d = 0; d < a.dimensions; d++) {
      for (Intrinsic op : {Intrinsic::buffer_min, Intrinsic::buffer_stride}) {
        same = make_and(same, make_eq(raw_field(a, op, d), raw_field(b, op, d)));
      }
    }
    return same;
  }

  void check_overlap(const Expr &empty, std::vector<Stmt> &s) {
    for (size_t i = 0; i < buffers_.size(); i++) {
      const LoweredArgument &out = buffers_[i];
      if (out.kind != LoweredArgument::Kind::OutputBuffer) continue;
      if (out.dimensions > 0) {
        Expr itself = make_extern_call(Bool(), "calo_overlaps_itself", {handle(out)}, true);
        s.push_back(check(make_or(empty, make_not(itself)), "calo_error_buffers_overlap",
                          {name_of(out), null_string()}));
      }
      for (size_t j = 0; j < buffers_.size(); j++) {
        const LoweredArgument &other = buffers_[j];
        bool other_output = other.kind == LoweredArgument::Kind::OutputBuffer;
        if (i == j || (other_output && j < i)) continue;
        Expr ok = make_or(empty, apart(out, other));
        if (may_share(out, other)) ok = make_or(ok, same_memory(out, other));
        s.push_back(check(ok, "calo_error_buffers_overlap", {name_of(out), name_of(other)}));
      }
    }
  }

  // For outputs that may share memory with an input: whether they do.
  Stmt with_in_place_flags(Stmt body) const {
    for (const LoweredArgument &out : buffers_) {
      Expr shares;
      for (const LoweredArgument &in : buffers_) {
        if (!may_share(out, in)) continue;
        Expr overlap = make_not(apart(out, in));
        shares = shares.defined() ? make_or(shares, overlap) : overlap;
      }
      if (shares.defined()) body = make_let_stmt(in_place_flag(out.name), shares, body);
    }
    return body;
  }

  void check_scalar(const LoweredArgument &a, std::vector<Stmt> &s) {
    if (!a.param) return;
    Type wide = a.type.is_float() ? Float(64) : a.type.is_uint() ? UInt(64) : Int(64);
    std::string suffix = a.type.is_float() ? "_f64" : a.type.is_uint() ? "_u64" : "_i64";
    Expr value = make_var(a.name, a.type, a.param);
    auto limit = [&](const Expr &bound, bool low) {
      if (!bound.defined()) return;
      Expr b = make_cast(a.type, bound);
      std::string reporter =
          std::string("calo_error_param_too_") + (low ? "small" : "large") + suffix;
      s.push_back(check(low ? make_ge(value, b) : make_le(value, b), reporter.c_str(),
                        {make_string(a.name), make_cast(wide, value), make_cast(wide, b)}));
    };
    limit(a.param->min_value, true);
    limit(a.param->max_value, false);
  }

  Stmt with_hosts(Stmt body) {
    for (const LoweredArgument &b : buffers_) {
      body = make_let_stmt(b.name, make_intrinsic(Handle(), Intrinsic::buffer_host, {handle(b)}),
                           body);
    }
    return body;
  }

  PassContext &cx_;
  Expr pipeline_;
  std::vector<LoweredArgument> buffers_, scalars_;
};

}  // namespace

Stmt check_buffers(const Stmt &s, PassContext &cx) { return Checker(cx).wrap(s); }

}  // namespace calotype::lower
