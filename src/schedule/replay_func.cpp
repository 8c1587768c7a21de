// Directives on a Func as a whole: where it is computed and stored, bounds, the order of its dimensions in memory.
// Tests: test/unit/schedule/replay_test.cpp.
#include <algorithm>

#include "../ir/equal.h"
#include "../ir/print.h"
#include "memo_key.h"
#include "replay_base.h"

namespace calotype::schedule {

namespace {

class FuncReplay : public ReplayBase {
public:
  using ReplayBase::ReplayBase;

  void run() {
    if (check_subject() && shape_args()) func_directive();
  }

private:
  // ---- directives on the Func --------------------------------------------------------------------
  bool func_directive() {
    switch (d_.kind) {
      case DirectiveKind::compute_root: return place(&s_.compute, Level::Kind::Root);
      case DirectiveKind::store_root: return place(&s_.store, Level::Kind::Root);
      case DirectiveKind::compute_inline: return compute_inline();
      case DirectiveKind::compute_at: return place_at(&s_.compute);
      case DirectiveKind::store_at: return place_at(&s_.store);
      case DirectiveKind::bound:
      case DirectiveKind::bound_extent: return bound();
      case DirectiveKind::align_bounds:
      case DirectiveKind::align_extent: return align();
      case DirectiveKind::reorder_storage: return reorder_storage();
      case DirectiveKind::memoize: return memoize();
      case DirectiveKind::trace_loads: return trace(&s_.trace_loads);
      case DirectiveKind::trace_stores: return trace(&s_.trace_stores);
      case DirectiveKind::trace_realizations: return trace(&s_.trace_realizations);
      case DirectiveKind::add_trace_tag: s_.trace_tags.push_back(args_[0].text); return true;
      case DirectiveKind::store_in: return store_in();
      case DirectiveKind::hoist_storage:
        return refuse_caller_storage() && place_at(&s_.hoist) && accept_storage();
      case DirectiveKind::hoist_storage_root:
        return refuse_caller_storage() && place(&s_.hoist, Level::Kind::Root) && accept_storage();
      case DirectiveKind::fold_storage: return fold_storage();
      case DirectiveKind::align_storage: return align_storage();
      case DirectiveKind::bound_storage: return bound_storage();
      default: return refuse("S0901", d_.loc, directive() + " is not available yet");
    }
  }

  bool place(Level *level, Level::Kind kind) {
    *level = Level();
    level->kind = kind;
    level->loc = d_.loc;
    return true;
  }

  bool refuse_output() {
    return refuse(
        "S0108", d_.loc,
        directive() + " makes no sense on " + f_.name + ", an output of " + cx_.program.name,
        "outputs are computed and stored at root, by their own loops", "remove it");
  }

  // A C function reads it or computes it: it must have memory.
  bool refuse_buffer() {
    return refuse("S0108", d_.loc,
                  f_.name + " cannot be inlined: " +
                      (f_.extern_stage() ? "it is an extern stage" : "an extern stage reads it"),
                  "a C function takes and gives buffers, so both are computed into memory",
                  "compute_root(), or compute_at(consumer, var)");
  }
  bool needs_memory() const {
    if (f_.extern_stage()) return true;
    for (const ir::Function &g : cx_.program.funcs) {
      if (!g.extern_stage()) continue;
      for (ir::Name read : ir::called_funcs(g.pure())) {
        if (read == f_.name) return true;
      }
    }
    return false;
  }

  bool trace(bool *what) {
    s_.touched = true;
    if (!s_.storage_loc.defined()) s_.storage_loc = d_.loc;
    return *what = true;
  }

  bool memoize() {
    if (cx_.program.is_output(f_.name)) {
      return refuse("S0108", d_.loc,
                    "memoize makes no sense on " + f_.name + ", an output of " + cx_.program.name,
                    "outputs go to the caller's buffers", "remove it, or memoize a Func it reads");
    }
    const MemoKey key = memo_key(cx_.program, f_);
    if (!key.fault.empty())
      return refuse("S0108", d_.loc, f_.name + " cannot be memoized", key.fault, key.fix);
    s_.memoize = s_.touched = true;
    s_.memo_loc = d_.loc;
    if (given_[0]) s_.evict_key = args_[0].expr;
    return true;
  }

  bool compute_inline() {
    if (cx_.program.is_output(f_.name)) return refuse_output();
    if (needs_memory()) return refuse_buffer();
    s_.store = Level();
    return place(&s_.compute, Level::Kind::Inlined);
  }

  bool place_at(Level *level) {
    if (cx_.program.is_output(f_.name)) return refuse_output();
    const Arg &a = args_[0];
    if (a.func.empty() && a.text == "root") return place(level, Level::Kind::Root);
    if (a.func.empty() && a.text == "inlined") {
      return needs_memory() ? refuse_buffer() : place(level, Level::Kind::Inlined);
    }
    const ir::Function *consumer = cx_.program.find(a.func);
    const SrcLoc at = a.loc.defined() ? a.loc : d_.loc;
    if (!consumer)
      return refuse(no_such_func(a.func, cx_.program, a.func_loc.defined() ? a.func_loc : at));
    if (a.stage >= consumer->stages()) {
      return refuse(
          "S0106", a.loc, "there is no " + stage_name(a.func, a.stage),
          a.func + " has " + std::to_string(consumer->stages() - 1) + " update definitions");
    }
    Level l;
    l.kind = Level::Kind::At;
    l.func = a.func;
    l.stage = a.stage;
    l.var = a.text;
    l.loc = at;
    *level = l;
    return true;
  }

  bool dimension(const Arg &a, ir::Name *var) {
    std::vector<Loop> dims(f_.args.size());
    for (size_t i = 0; i < dims.size(); i++) dims[i].var = f_.args[i];
    const int i = find_loop(f_, dims, a.text);
    if (i >= 0) {
      *var = f_.args[i];
      return true;
    }
    std::vector<std::string> names(f_.args.begin(), f_.args.end());
    std::string all;
    for (const std::string &n : names) all += (all.empty() ? "" : ", ") + n;
    Diagnostic d("S0103", a.loc.defined() ? a.loc : d_.loc,
                 f_.name + " has no dimension " + a.text);
    d.why.push_back({"its dimensions are: " + all, {}});
    for (const std::string &near : nearest_names(a.text, names))
      d.help.push_back("did you mean " + near + "?");
    return refuse(std::move(d));
  }

  Bound *bound_of(ir::Name var) {
    for (Bound &b : s_.bounds) {
      if (b.var == var) return &b;
    }
    return nullptr;
  }

  bool conflict(const Bound &b, const std::string &what) {
    Diagnostic d("S0117", d_.loc,
                 directive() + " contradicts what was said of " + b.var + " of " + f_.name);
    d.why.push_back({what + " was given before", b.loc});
    d.help.push_back("give it once");
    return refuse(std::move(d));
  }

  bool bound() {
    ir::Name var;
    if (!dimension(args_[0], &var)) return false;
    const bool has_min = d_.kind == DirectiveKind::bound;
    const Arg &extent = args_[has_min ? 2 : 1];
    if (!check_positive(extent, "extent")) return false;
    Bound b;
    if (const Bound *old = bound_of(var)) b = *old;
    if (b.extent.defined() && !ir::equal(b.extent, extent.expr))
      return conflict(b, "extent " + ir::to_string(b.extent));
    if (has_min && b.min.defined() && !ir::equal(b.min, args_[1].expr))
      return conflict(b, "min " + ir::to_string(b.min));
    b.var = var;
    b.extent = extent.expr;
    if (has_min) b.min = args_[1].expr;
    return accept_bound(b);
  }

  bool align() {
    ir::Name var;
    if (!dimension(args_[0], &var) || !check_positive(args_[1], "modulus")) return false;
    Bound b;
    if (const Bound *old = bound_of(var)) b = *old;
    if (b.modulus.defined()) return conflict(b, "an alignment");
    b.var = var;
    b.modulus = at_least_one(args_[1].expr);
    b.align_extent_only = d_.kind == DirectiveKind::align_extent;
    if (!b.align_extent_only) b.remainder = given_[2] ? args_[2].expr : ir::make_int(Int(32), 0);
    return accept_bound(b);
  }

  bool accept_bound(Bound b) {
    b.loc = d_.loc;
    s_.touched = true;
    if (Bound *old = bound_of(b.var)) {
      *old = std::move(b);
    } else {
      s_.bounds.push_back(std::move(b));
    }
    return true;
  }

  // True unless the Func is an output, whose memory the caller gives.
  bool refuse_caller_storage() {
    if (!cx_.program.is_output(f_.name)) return true;
    return refuse(
        "S0108", d_.loc,
        directive() + " makes no sense on " + f_.name + ", an output of " + cx_.program.name,
        "the caller's buffer has its own layout", "remove it");
  }

  bool store_in() {
    if (!refuse_caller_storage()) return false;
    static const std::pair<const char *, ir::MemoryType> kKnown[] = {
        {"Auto", ir::MemoryType::Auto},
        {"Heap", ir::MemoryType::Heap},
        {"Stack", ir::MemoryType::Stack},
        {"Register", ir::MemoryType::Register}};
    for (const auto &known : kKnown) {
      if (args_[0].text != known.first) continue;
      if (s_.memory_loc.defined() && s_.memory != known.second) {
        Diagnostic d("S0117", d_.loc, "store_in contradicts what was said of " + f_.name);
        d.why.push_back({"another kind of memory was given before", s_.memory_loc});
        d.help.push_back("give it once");
        return refuse(std::move(d));
      }
      s_.memory = known.second;
      s_.memory_loc = d_.loc;
      return accept_storage();
    }
    return refuse("S0130", args_[0].loc,
                  "store_in(" + args_[0].text + ") needs a device that the target does not have",
                  "the target is " + cx_.target.to_string() + ", a CPU",
                  "use Auto, Heap, Stack or Register");
  }

  bool accept_storage() {
    s_.touched = true;
    if (!s_.storage_loc.defined()) s_.storage_loc = d_.loc;
    return true;
  }

  // What is known of one dimension's storage; null after a refusal.
  StorageDim *storage_of(const Arg &a) {
    ir::Name var;
    if (!refuse_caller_storage() || !dimension(a, &var)) return nullptr;
    for (StorageDim &dim : s_.storage) {
      if (dim.var == var) return &dim;
    }
    s_.storage.emplace_back();
    s_.storage.back().var = var;
    return &s_.storage.back();
  }

  bool said_before(const StorageDim &dim, SrcLoc before) {
    if (!before.defined()) return false;
    Diagnostic d("S0117", d_.loc, directive() + " is said twice of " + dim.var + " of " + f_.name);
    d.why.push_back({"it was said before", before});
    d.help.push_back("give it once");
    refuse(std::move(d));
    return true;
  }

  bool needs_constant(const Arg &a, const char *what) {
    if (!check_positive(a, what)) return false;
    if (ir::as_const_int(a.expr)) return true;
    return refuse("S0110", a.loc,
                  directive() + " needs a constant " + what + ", not " + ir::to_string(a.expr),
                  "code is made for it", "write a number, or a let of one");
  }

  bool fold_storage() {
    if (!needs_constant(args_[1], "factor")) return false;
    StorageDim *dim = storage_of(args_[0]);
    if (!dim || said_before(*dim, dim->fold_loc)) return false;
    dim->fold = args_[1].expr;
    dim->fold_forward = !given_[2] || args_[2].text == "true";
    dim->fold_loc = d_.loc;
    for (const StorageDim &other : s_.storage) {
      if (&other == dim || !other.fold.defined()) continue;
      dim->fold = Expr();
      Diagnostic d("S0132", d_.loc, "fold_storage of two dimensions of " + f_.name);
      d.why.push_back({"a window moves along one dimension: " + other.var.str(), other.fold_loc});
      return refuse(std::move(d));
    }
    return accept_storage();
  }

  bool align_storage() {
    if (!needs_constant(args_[1], "alignment")) return false;
    StorageDim *dim = storage_of(args_[0]);
    if (!dim || said_before(*dim, dim->align_loc)) return false;
    dim->align = args_[1].expr;
    dim->align_loc = d_.loc;
    return accept_storage();
  }

  bool bound_storage() {
    if (!check_positive(args_[1], "extent")) return false;
    StorageDim *dim = storage_of(args_[0]);
    if (!dim || said_before(*dim, dim->bound_loc)) return false;
    dim->bound = at_least_one(args_[1].expr);
    dim->bound_loc = d_.loc;
    return accept_storage();
  }

  // The named dimensions in this order, in the places they hold.
  bool reorder_storage() {
    if (names_.empty()) return refuse_arity("it needs the dimensions' names", {});
    if (!refuse_caller_storage()) return false;
    std::vector<int> wanted;
    for (const Arg &a : names_) {
      ir::Name var;
      if (!dimension(a, &var)) return false;
      const int i =
          static_cast<int>(std::find(s_.storage_order.begin(), s_.storage_order.end(), var) -
                           s_.storage_order.begin());
      if (std::find(wanted.begin(), wanted.end(), i) != wanted.end()) {
        return refuse("S0114", a.loc, "reorder_storage names " + a.text + " twice",
                      "each dimension has one place in memory", "leave one of them out");
      }
      wanted.push_back(i);
    }
    std::vector<int> places = wanted;
    std::sort(places.begin(), places.end());
    Names order = s_.storage_order;
    for (size_t k = 0; k < wanted.size(); k++) order[places[k]] = s_.storage_order[wanted[k]];
    s_.storage_order = std::move(order);
    s_.storage_loc = d_.loc;
    s_.touched = true;
    return true;
  }
};

}  // namespace

Reason replay_on_func(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d) {
  FuncReplay replay(cx, f, s, d);
  replay.run();
  return replay.take_result();
}

}  // namespace calotype::schedule
