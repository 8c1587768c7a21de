// Values on demand: what a Func is after each of its updates, computed in batches. See Note [stages] below.
// Tests: test/unit/ir/interpret_test.cpp.
#include "interpret_stages.h"

#include <algorithm>
#include <cstring>

#include "../base/diagnostic.h"
#include "visit.h"

namespace calotype::ir::interpreter {

// --- Stages ----------------------------------------------------------------------------------------------------------

void Interpreter::add_stages(const Function &f) {
  CALO_ASSERT(f.dimensions() <= kMostDimensions, f.name.str());
  Stage *before = nullptr;
  for (int k = 0; k < f.stages(); k++) {
    auto s = std::make_unique<Stage>();
    s->func = &f;
    s->def = &f.definitions[k];
    s->index = k;
    s->before = before;
    s->memo = std::make_unique<Memo>(f.dimensions(), f.types);
    before = s.get();
    stages_.push_back(std::move(s));
  }
  last_[f.name] = before;
}

int Interpreter::func_site(const Call *op, bool *is_self) {
  Stage *stage = nullptr;
  bool inside = false;
  if (op->name == compiling_->func->name) {
    CALO_ASSERT(compiling_->index > 0, "pure definition of " + op->name.str() + " reads itself");
    stage = compiling_;
    inside = *is_self = true;
  } else {
    auto it = last_.find(op->name);
    CALO_ASSERT(it != last_.end(), "no Func " + op->name.str());
    stage = it->second;
  }
  sites_.push_back({stage, inside});
  return static_cast<int>(sites_.size()) - 1;
}

namespace {

// A store that leaves out a Tuple element must keep the earlier value there.
bool needs_old_value(const Stage &s) {
  return std::count(s.stores.begin(), s.stores.end(), false) > 0;
}

bool is_var(const Expr &e, Name name) {
  const Variable *v = e.as<Variable>();
  return v && v->name == name && !v->param.defined();
}

}  // namespace

// Which dimensions an update keeps in place: its own coordinate and that of every read of itself is the pure Var.
void Interpreter::find_slice(Stage &s) {
  const Function &f = *s.func;
  const Definition &d = *s.def;
  std::vector<Expr> roots = d.args;
  roots.insert(roots.end(), d.values.begin(), d.values.end());
  if (d.predicate.defined()) roots.push_back(d.predicate);
  for (int i = 0; i < f.dimensions(); i++) {
    bool is_rvar = false;
    for (const ReductionVariable &r : d.rvars) is_rvar |= r.var == f.args[i];
    s.in_slice.push_back(!is_rvar && is_var(d.args[i], f.args[i]));
  }
  for (const Expr &root : roots) {
    for_each_expr(root, [&](const Expr &e) {
      const Call *call = e.as<Call>();
      if (!call || call->call_type != CallType::Halide || call->name != f.name) return;
      for (int i = 0; i < f.dimensions(); i++)
        s.in_slice[i] = s.in_slice[i] && is_var(call->args[i], f.args[i]);
    });
  }
  std::unordered_set<Name> bound;
  for (const ReductionVariable &r : d.rvars) bound.insert(r.var);
  s.all_in_slice = true;
  for (int i = 0; i < f.dimensions(); i++) {
    if (s.in_slice[i]) bound.insert(f.args[i]);
    s.all_in_slice = s.all_in_slice && s.in_slice[i];
  }
  for (const Expr &root : roots) {
    for (Name n : free_vars(root)) {
      if (bound.count(n)) continue;
      raise(Diagnostic(
                "L0901", d.loc,
                "update " + std::to_string(s.index) + " of " + f.name + " moves along " + n.str())
                .because("it uses " + n.str() +
                         " on its left side, but reads itself or is written at another place in "
                         "that dimension: the order over all values of " +
                         n.str() + " has no beginning")
                .fix("use an RVar for the dimension the recurrence runs along"));
    }
  }
}

namespace {

// `undef` stores nothing: inside a larger value it is what the Func holds already.
Expr keep_old_value(const Stage &s, const Expr &value, int element) {
  if (s.index == 0) return value;
  return rewrite(value, [&](const Expr &e) {
    if (!as_intrinsic(e, Intrinsic::undef)) return e;
    return make_func_call(e.type(), s.func->name, s.def->args, element);
  });
}

}  // namespace

void Interpreter::compile(Stage &s) {
  compiling_ = &s;
  const Definition &d = *s.def;
  CompileOptions options;
  options.fma = options_.fma;
  options.resolver = this;
  options.track_unspecified = options_.track_unspecified;
  options.where = s.func->name.str() + (d.loc.defined() ? " (" + to_string(d.loc) + ")" : "");
  std::vector<Name> inputs;
  std::vector<Expr> exprs;
  if (s.index == 0) {
    inputs = s.func->args;
  } else {
    find_slice(s);
    for (int i = 0; i < s.func->dimensions(); i++) {
      if (s.in_slice[i]) inputs.push_back(s.func->args[i]);
    }
    for (const ReductionVariable &r : d.rvars) inputs.push_back(r.var);
    for (const Expr &e : d.args) exprs.push_back(make_cast(Int(32), e));
  }
  for (size_t i = 0; i < d.values.size(); i++) {
    s.stores.push_back(!as_intrinsic(d.values[i], Intrinsic::undef));
    exprs.push_back(keep_old_value(s, d.values[i], static_cast<int>(i)));
  }
  const std::vector<Type> types(inputs.size(), Int(32));
  s.program = Program::compile(exprs, inputs, types, options);
  s.frame.resize(static_cast<size_t>(s.program->registers()) * kSlotBytes);
  if (d.predicate.defined()) {
    s.predicate = Program::compile({d.predicate}, inputs, types, options);
    s.predicate_frame.resize(static_cast<size_t>(s.predicate->registers()) * kSlotBytes);
  }
}

void Interpreter::find_bounds(Stage &s) {
  if (s.has_bounds) return;
  s.has_bounds = true;
  CompileOptions options;
  options.fma = options_.fma;
  options.resolver = this;
  compiling_ = &s;
  for (const ReductionVariable &r : s.def->rvars) {
    auto p = Program::compile({make_cast(Int(32), r.min), make_cast(Int(32), r.extent)}, {}, {},
                              options);
    std::vector<char> frame(static_cast<size_t>(p->registers()) * kSlotBytes + 1);
    run_program(*p, frame.data(), false, 0, 1);
    s.min.push_back(*as_int32(p->output(frame.data(), 0)));
    s.extent.push_back(*as_int32(p->output(frame.data(), 1)));
  }
}

// --- Values on demand ------------------------------------------------------------------------------------------------

void Interpreter::fetch(Stage &s, bool inside, int index, const int32_t *const *at, int begin,
                        int end, void *out) {
  Memo &memo = *s.memo;
  Place places[kBatch], missed[kBatch];
  int lanes[kBatch], misses = 0;
  for (int i = begin; i < end; i++) {
    places[i] = memo.place(at, i);
    Known &state = memo.state(places[i]);
    if (state == Known::Yes || (state == Known::Asked && !inside))
      continue;  // asked by an earlier lane
    state = Known::Asked;
    missed[misses] = places[i];
    lanes[misses++] = i;
  }
  if (misses > 0) compute_misses(s, inside, at, lanes, missed, misses);
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    T *to = static_cast<T *>(out);
    for (int i = begin; i < end; i++) std::memcpy(&to[i], memo.value(places[i], index), sizeof(T));
  };
  switch (memo.size(index)) {
    case 1: return copy(uint8_t());
    case 2: return copy(uint16_t());
    case 4: return copy(uint32_t());
    default: return copy(uint64_t());
  }
}

void Interpreter::compute_misses(Stage &s, bool inside, const int32_t *const *at, const int *lanes,
                                 const Place *places, int n) {
  const int dimensions = s.func->dimensions();
  Coordinates missed(dimensions);
  for (int d = 0; d < dimensions; d++) {
    for (int i = 0; i < n; i++) missed.values[d][i] = at[d][lanes[i]];
  }
  if (s.index == 0) return compute_pure(s, missed, places, n);
  if (inside) return copy_from_before(s, missed, places, n);
  if (s.all_in_slice) {
    copy_from_before(s, missed, places, n);
    return run_update(s, missed, n);
  }
  run_slices(s, missed, n);
  // What the update has not touched keeps its earlier value.
  Coordinates rest(dimensions);
  Place rest_places[kBatch];
  int untouched = 0;
  for (int i = 0; i < n; i++) {
    if (s.memo->state(places[i]) == Known::Yes) continue;
    for (int d = 0; d < dimensions; d++) rest.values[d][untouched] = missed.values[d][i];
    rest_places[untouched++] = places[i];
  }
  if (untouched > 0) copy_from_before(s, rest, rest_places, untouched);
}

void Interpreter::compute_pure(Stage &s, const Coordinates &at, const Place *places, int n) {
  const Program &p = *s.program;
  char *frame = s.frame.data();
  for (int d = 0; d < s.func->dimensions(); d++)
    std::memcpy(p.input(frame, d), at.at[d], n * sizeof(int32_t));
  run_program(p, frame, false, 0, n);
  for (int e = 0; e < s.memo->elements(); e++) {
    const char *from = static_cast<const char *>(p.output(frame, e));
    const int size = s.memo->size(e);
    for (int i = 0; i < n; i++) std::memcpy(s.memo->value(places[i], e), from + i * size, size);
  }
  for (int i = 0; i < n; i++) s.memo->state(places[i]) = Known::Yes;
}

void Interpreter::copy_from_before(Stage &s, const Coordinates &at, const Place *places, int n) {
  uint64_t values[kBatch];
  for (int e = 0; e < s.memo->elements(); e++) {
    fetch(*s.before, false, e, at.at, 0, n, values);
    const int size = s.memo->size(e);
    for (int i = 0; i < n; i++) {
      std::memcpy(s.memo->value(places[i], e), reinterpret_cast<const char *>(values) + i * size,
                  size);
    }
  }
  for (int i = 0; i < n; i++) s.memo->state(places[i]) = Known::Yes;
}

// --- Updates -----------------------------------------------------------------------------------------------------------

// Runs the update for those slices of the n points that have not been computed.
void Interpreter::run_slices(Stage &s, const Coordinates &at, int n) {
  const int dimensions = s.func->dimensions();
  Coordinates slices(dimensions);
  int fresh = 0;
  for (int i = 0; i < n; i++) {
    std::string key;
    for (int d = 0; d < dimensions; d++) {
      if (s.in_slice[d]) key.append(reinterpret_cast<const char *>(&at.at[d][i]), sizeof(int32_t));
    }
    if (!s.done.insert(key).second) continue;
    for (int d = 0; d < dimensions; d++) slices.values[d][fresh] = at.at[d][i];
    fresh++;
  }
  if (fresh > 0) run_update(s, slices, fresh);
}

// All points of the reduction domain, in order, for n slices at once. A batch holds several points of the domain times
// all slices (lane = point * n + slice): what does not read the Func itself is computed for the whole batch, the rest
// and the stores for one point after the other.
void Interpreter::run_update(Stage &s, const Coordinates &slices, int n) {
  find_bounds(s);
  const int rvars = static_cast<int>(s.min.size());
  std::vector<int64_t> r(s.min.begin(), s.min.end());
  for (int32_t e : s.extent) {
    if (e <= 0) return;
  }
  const bool self_predicate = s.predicate && s.predicate->has_self();
  const int points = self_predicate ? 1 : std::max(1, kBatch / n);
  const Program &p = s.predicate ? *s.predicate : *s.program;
  char *frame = s.predicate ? s.predicate_frame.data() : s.frame.data();
  for (bool more = true; more;) {
    int lanes = 0;
    for (int point = 0; point < points && more; point++) {
      int input = 0;
      for (int d = 0; d < s.func->dimensions(); d++) {
        if (s.in_slice[d])
          std::memcpy(as_int32(p.input(frame, input++)) + lanes, slices.at[d], n * sizeof(int32_t));
      }
      for (int k = 0; k < rvars; k++) {
        std::fill_n(as_int32(p.input(frame, input++)) + lanes, n, static_cast<int32_t>(r[k]));
      }
      lanes += n;
      int k = 0;
      while (k < rvars && ++r[k] == static_cast<int64_t>(s.min[k]) + s.extent[k]) {
        r[k] = s.min[k];
        k++;
      }
      more = k < rvars;
    }
    run_points(s, n, lanes);
  }
}

// Runs the update for a batch whose inputs are filled in: `lanes` lanes, `n` for each point of the domain.
void Interpreter::run_points(Stage &s, int n, int lanes) {
  std::vector<int> ends;  // of each point's lanes
  if (s.predicate) {
    lanes = select_lanes(s, n, lanes, &ends);
  } else {
    for (int end = n; end <= lanes; end += n) ends.push_back(end);
  }
  const Program &p = *s.program;
  run_program(p, s.frame.data(), false, 0, lanes);
  if (p.size(true) == 0) return store(s, 0, lanes);
  int begin = 0;
  for (int end : ends) {
    run_program(p, s.frame.data(), true, begin, end);
    store(s, begin, end);
    begin = end;
  }
}

// Evaluates the predicate and hands the lanes where it holds to the update's own frame, closed up.
int Interpreter::select_lanes(Stage &s, int n, int lanes, std::vector<int> *ends) {
  const Program &p = *s.predicate;
  char *frame = s.predicate_frame.data();
  run_program(p, frame, false, 0, lanes);
  run_program(p, frame, true, 0, lanes);
  const uint8_t *holds = static_cast<const uint8_t *>(p.output(frame, 0));
  int kept = 0;
  for (int i = 0; i < lanes; i++) {
    if (holds[i]) {
      for (int k = 0; k < p.inputs(); k++) {
        as_int32(s.program->input(s.frame.data(), k))[kept] = as_int32(p.input(frame, k))[i];
      }
      kept++;
    }
    if ((i + 1) % n == 0) ends->push_back(kept);
  }
  return kept;
}

void Interpreter::store(Stage &s, int begin, int end) {
  const Program &p = *s.program;
  const int dimensions = s.func->dimensions();
  const int32_t *at[kMostDimensions];
  for (int d = 0; d < dimensions; d++) at[d] = as_int32(p.output(s.frame.data(), d));
  for (int i = begin; i < end; i++) {
    const Place place = s.memo->place(at, i);
    Known &state = s.memo->state(place);
    if (state != Known::Yes && needs_old_value(s)) {
      Coordinates one(dimensions);
      for (int d = 0; d < dimensions; d++) one.values[d][0] = at[d][i];
      copy_from_before(s, one, &place, 1);
    }
    state = Known::Yes;
    for (int e = 0; e < s.memo->elements(); e++) {
      if (!s.stores[e]) continue;
      const int size = s.memo->size(e);
      const char *from = static_cast<const char *>(p.output(s.frame.data(), dimensions + e));
      std::memcpy(s.memo->value(place, e), from + i * size, size);
    }
  }
}

// Note [stages]
// A Func with updates 1..K is a chain of Funcs f0 (the pure definition), f1 .. fK, fk being what f is after update k.
// Readers of f read fK. A value of fk at a point c is found by running update k for c's slice: the language lets a pure
// Var of an update appear only in its own place, on the left and in every read of f, so the update works independently
// for each value of its pure Vars, and those coordinates of c are the slice. Within a slice the whole reduction domain
// runs in order over a sparse map whose absent points hold f(k-1), asked for when first read. What the domain never
// wrote is f(k-1) too. So nothing is computed that the demanded points do not need, except by the update itself, and no
// bounds are needed. Where all dimensions are in the slice (f(x, y) += ...) every point is a slice of its own.
//
// All demands come in batches of up to kBatch points; slices that are missing run side by side, a lane each.

}  // namespace calotype::ir::interpreter
