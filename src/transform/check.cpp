// Runs a plan as lowering would, block by block, and the textbook form beside it. See check.h.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "../ir/print.h"
#include "../ir/visit.h"
#include "check_values.h"
#include "prove.h"

namespace calotype::transform {

using namespace ir;

namespace {

using Coords = std::vector<int64_t>;
using Values = std::vector<CheckValue>;
struct Key {
  int member;
  Coords at;
  bool operator<(const Key &o) const { return member != o.member ? member < o.member : at < o.at; }
};

/// The plan with every pure Func put in, so that a mask means the same wherever it is written.
OnlinePlan flattened(const Program &p, OnlinePlan plan) {
  const auto flat = [&](Expr &e) {
    if (!e.defined()) return;
    const Expr x = inline_everything(p, e);
    if (x.defined()) e = x;
  };
  for (Member &m : plan.members) {
    flat(m.predicate);
    for (Expr &e : m.written) flat(e);
    for (Expr &e : m.init) flat(e);
    for (Accumulator &a : m.accumulators) flat(a.term);
    for (Expr &e : m.values) flat(e);
  }
  return plan;
}

bool is_extreme(const Member &m) {
  return m.combine == Combine::Max || m.combine == Combine::Min || m.combine == Combine::ArgMax ||
         m.combine == Combine::ArgMin;
}

enum class References { Own, Random };

/// What one member holds at one place.
struct State {
  Values accumulators, centers;
};
using States = std::map<Key, State>;

class Simulation {
public:
  Simulation(const OnlinePlan &plan, CheckEvaluator &eval, bool in_field, const CheckOptions &o)
      : plan_(plan), eval_(eval), in_field_(in_field), options_(o) {
    for (const ReductionVariable &r : plan.rvars) eval_.loop_vars.insert(r.var);
    const int n = static_cast<int>(plan.members.size());
    for (int64_t at : {3, 5}) {
      Coords c;
      for (size_t i = 0; i < plan.last().args.size(); i++)
        c.push_back(at + static_cast<int64_t>(i));
      reach({n - 1, c});
    }
  }

  /// The last member and all it needs, earlier ones first.
  const std::map<Key, bool> &keys() const { return keys_; }
  const Member &member(const Key &k) const { return plan_.members[static_cast<size_t>(k.member)]; }

  // ---- the textbook form -----------------------------------------------------------------------------

  const Values &textbook(const Key &k) {
    const auto it = textbook_.find(k);
    if (it != textbook_.end()) return it->second;
    const Member &m = member(k);
    Values v;
    if (in_field_ && is_extreme(m)) {
      for (size_t i = 0; i < m.written.size(); i++)
        v.push_back(eval_.random(m.written[i].type(), hash(k, 100 + i), false));
    } else {
      v = textbook_of(k, m);
    }
    return textbook_[k] = v;
  }

  Values textbook_of(const Key &k, const Member &m) {
    place(k);
    bind_results(k);
    std::vector<Expr> acc, next;
    Values now;
    for (size_t i = 0; i < m.written.size(); i++) {
      acc.push_back(make_var("$acc" + std::to_string(i), m.written[i].type()));
      next.push_back(make_var("$next" + std::to_string(i), m.written[i].type()));
      const Expr e = m.init[i].defined() ? m.init[i] : start(m, i);
      now.push_back(eval_.of(e));
    }
    const std::vector<Expr> step = combine(m, acc, next);
    double size = 0;
    for (int t = 0; t < options_.points; t++) {
      at_point(t);
      if (m.predicate.defined() && !eval_.truth(m.predicate)) continue;
      for (size_t i = 0; i < next.size(); i++) {
        const CheckValue term = eval_.of(m.written[i]);
        size += m.combine == Combine::Add ? std::abs(term.d) : 0;
        set(next[i], term);
      }
      for (size_t i = 0; i < acc.size(); i++) set(acc[i], now[i]);
      for (size_t i = 0; i < acc.size(); i++) now[i] = eval_.of(step[i]);
    }
    magnitude_[k] = size;
    return now;
  }

  /// The sum of |terms|, for tolerances; the value itself where nothing is added.
  double magnitude(const Key &k) {
    const double v = std::abs(textbook(k)[0].d);
    return std::max(magnitude_[k], v);
  }

  // ---- the plan --------------------------------------------------------------------------------------

  States start_states() {
    States s;
    for (const auto &[k, used] : keys_) {
      const Member &m = member(k);
      State st;
      for (const Accumulator &a : m.accumulators) st.accumulators.push_back(eval_.of(a.identity));
      st.centers.resize(m.centers.size());
      for (size_t c = 0; c < m.centers.size(); c++)
        st.centers[c] =
            in_field_ ? eval_.random(m.centers[c].type, hash(k, 7 + c), false) : CheckValue();
      s[k] = std::move(st);
    }
    if (!in_field_) {
      for (const auto &[k, used] : keys_) {
        running(k, s, References::Own, -1);
        for (size_t c = 0; c < member(k).centers.size(); c++)
          s[k].centers[c] = eval_.of(member(k).centers[c].running);
      }
    }
    return s;
  }

  void stream(States &s, int begin, int end, References which) {
    for (int b = begin; b < end; b += options_.block) {
      const int last = std::min(b + options_.block, end);
      for (const auto &[k, used] : keys_) {
        const Member &m = member(k);
        running(k, s, which, b);
        move(k, s, centers_now(k, m, which, static_cast<uint64_t>(b)));
        add_points(k, s, b, last);
      }
    }
  }

  /// b merged into a: both brought to the same centers.
  void merge(States &a, States &b) {
    for (const auto &[k, used] : keys_) {
      const Member &m = member(k);
      running(k, a, in_field_ ? References::Random : References::Own, 1 << 20);
      const Values now = centers_now(k, m, in_field_ ? References::Random : References::Own, 99999);
      move(k, a, now);
      move(k, b, now);
      std::vector<Expr> left, right;
      for (size_t i = 0; i < m.accumulators.size(); i++) {
        left.push_back(make_var("$left" + std::to_string(i), m.accumulators[i].type));
        right.push_back(make_var("$right" + std::to_string(i), m.accumulators[i].type));
        set(left[i], a[k].accumulators[i]);
        set(right[i], b[k].accumulators[i]);
      }
      const std::vector<Expr> both = combine(m, left, right);
      for (size_t i = 0; i < both.size(); i++) a[k].accumulators[i] = eval_.of(both[i]);
    }
  }

  /// The member's results, of references' results `given` (the textbook's, or the plan's own).
  Values results(const Key &k, States &s, bool given) {
    const Member &m = member(k);
    place(k);
    if (given) {
      bind_results(k);
    } else {
      bind_own(k, s);
    }
    if (m.repairs_at_end || (in_field_ && !m.centers.empty())) {
      Values last;
      for (const Center &c : m.centers) last.push_back(eval_.of(c.last));
      move(k, s, last);
    }
    bind_accumulators(k, s);
    Values v;
    for (const Expr &e : m.values) v.push_back(eval_.of(e));
    return v;
  }

  /// How far the results may be off, in units of what accumulating loses: each accumulator's sum of |terms|, times what
  /// the result multiplies it with. After results().
  double spread(const Key &k, States &s) {
    const Member &m = member(k);
    if (m.combine != Combine::Add || m.counts) return 0;
    for (size_t c = 0; c < m.centers.size(); c++) {
      set(make_var(m.centers[c].now, m.centers[c].type), s[k].centers[c]);
    }
    Values sizes(m.accumulators.size());
    for (int t = 0; t < options_.points; t++) {
      at_point(t);
      if (m.predicate.defined() && !eval_.truth(m.predicate)) continue;
      for (size_t i = 0; i < sizes.size(); i++)
        sizes[i].d += std::abs(eval_.of(m.accumulators[i].term).d);
    }
    double sum = 0;
    for (size_t i = 0; i < sizes.size(); i++) {
      bind_accumulators(k, s);
      const double before = eval_.of(m.values[0]).d;
      eval_.vars[m.accumulators[i].symbol].d += sizes[i].d;
      sum += std::abs(eval_.of(m.values[0]).d - before);
    }
    return std::isfinite(sum) ? sum : 0;
  }

  /// In a field max and min have no value: what their accumulators repair to is compared point by point.
  std::string check_points(const Key &k) {
    const Member &m = member(k);
    for (int t = 0; t < options_.points; t++) {
      place(k);
      bind_results(k);
      States s;
      s[k].accumulators.resize(m.accumulators.size());
      for (size_t c = 0; c < m.centers.size(); c++) {
        const CheckValue v = eval_.random(m.centers[c].type, hash(k, 300 + c), false);
        s[k].centers.push_back(v);
        set(make_var(m.centers[c].now, m.centers[c].type), v);
      }
      at_point(t);
      for (size_t i = 0; i < m.accumulators.size(); i++)
        s[k].accumulators[i] = eval_.of(m.accumulators[i].term);
      const CheckValue wanted =
          eval_.of(m.init[0].defined() ? combine(m, {m.init[0]}, {m.written[0]})[0] : m.written[0]);
      count_as_one_ = true;
      const Values got = results(k, s, true);
      count_as_one_ = false;
      if (!eval_.same(got[0], wanted)) return "an element of " + m.func + " is not repaired";
    }
    return {};
  }

private:
  void reach(const Key &k) {
    if (!keys_.emplace(k, true).second) return;
    const Member &m = member(k);
    for (const Reference &r : m.references) {
      place(k);
      reach(target_of(r));
    }
  }

  Key target_of(const Reference &r) {
    Key t{r.member, {}};
    for (const Expr &a : r.args) t.at.push_back(eval_.of(a).i);
    return t;
  }

  uint64_t hash(const Key &k, uint64_t salt) const {
    uint64_t h = mix(options_.seed, salt);
    h = mix(h, static_cast<uint64_t>(k.member));
    for (int64_t c : k.at) h = mix(h, static_cast<uint64_t>(c));
    return h;
  }

  void set(const Expr &var, const CheckValue &v) { eval_.vars[var.as<Variable>()->name] = v; }

  Expr start(const Member &m, size_t i) const {
    return m.accumulators.size() == m.written.size() ? m.accumulators[i].identity
                                                     : m.accumulators[0].identity;
  }

  void place(const Key &k) {
    const Member &m = member(k);
    eval_.vars.clear();
    for (size_t i = 0; i < m.args.size(); i++) eval_.vars[m.args[i]].i = k.at[i];
  }

  void at_point(int t) {
    eval_.point = t;
    int rest = t;
    for (size_t i = 0; i < plan_.rvars.size(); i++) {
      const bool last = i + 1 == plan_.rvars.size();
      eval_.vars[plan_.rvars[i].var].i = last ? rest : rest % 4;
      rest /= 4;
    }
  }

  void bind(const Reference &r, const Values &v) {
    CheckValue x = v[static_cast<size_t>(r.value)];
    if (count_as_one_ && plan_.members[static_cast<size_t>(r.member)].counts) x.i = 1;
    eval_.vars[r.symbol] = x;
  }

  void bind_results(const Key &k) {
    const Member &m = member(k);
    for (const Reference &r : m.references) {
      place(k);
      const Key t = target_of(r);
      textbook(t);
    }
    place(k);
    for (const Reference &r : m.references) bind(r, textbook(target_of(r)));
  }

  // The plan's own results of earlier members, which need their references' own first.
  void bind_own(const Key &k, States &s) {
    const Member &m = member(k);
    std::vector<Values> found;
    for (const Reference &r : m.references) {
      place(k);
      const Key t = target_of(r);
      found.push_back(results(t, s, false));
    }
    place(k);
    for (size_t i = 0; i < found.size(); i++) bind(m.references[i], found[i]);
  }

  // Values of references so far; after that k's coordinates and references are bound.
  void running(const Key &k, States &s, References which, int block) {
    const Member &m = member(k);
    std::vector<Values> found;
    for (const Reference &r : m.references) {
      place(k);
      const Key t = target_of(r);
      const Member &o = member(t);
      if (in_field_ && (which == References::Random || is_extreme(o)) && !o.counts) {
        Values v;
        for (size_t i = 0; i < o.written.size(); i++)
          v.push_back(eval_.random(o.written[i].type(),
                                   hash(t, 1000 + static_cast<uint64_t>(block) * 8 + i), false));
        found.push_back(v);
        continue;
      }
      running(t, s, which, block);
      bind_accumulators(t, s);
      Values v;
      for (const Expr &e : o.values) v.push_back(eval_.of(e));
      found.push_back(v);
    }
    place(k);
    for (size_t i = 0; i < found.size(); i++) bind(m.references[i], found[i]);
  }

  void bind_accumulators(const Key &k, States &s) {
    const Member &m = member(k);
    for (size_t i = 0; i < m.accumulators.size(); i++)
      eval_.vars[m.accumulators[i].symbol] = s[k].accumulators[i];
  }

  Values centers_now(const Key &k, const Member &m, References which, uint64_t block) {
    Values v;
    for (size_t c = 0; c < m.centers.size(); c++) {
      v.push_back(which == References::Random && in_field_
                      ? eval_.random(m.centers[c].type, hash(k, 2000 + block * 16 + c), false)
                      : eval_.of(m.centers[c].running));
    }
    return v;
  }

  void move(const Key &k, States &s, const Values &now) {
    const Member &m = member(k);
    for (size_t c = 0; c < m.centers.size(); c++) {
      eval_.vars[m.centers[c].before] = s[k].centers[c];
      eval_.vars[m.centers[c].now] = now[c];
    }
    bind_accumulators(k, s);
    Values repaired;
    for (const Accumulator &a : m.accumulators) repaired.push_back(eval_.of(a.repair));
    s[k].accumulators = repaired;
    s[k].centers = now;
  }

  void add_points(const Key &k, States &s, int begin, int end) {
    const Member &m = member(k);
    std::vector<Expr> acc, term;
    for (size_t i = 0; i < m.accumulators.size(); i++) {
      acc.push_back(make_var(m.accumulators[i].symbol, m.accumulators[i].type));
      term.push_back(make_var("$term" + std::to_string(i), m.accumulators[i].type));
    }
    const std::vector<Expr> step = combine(m, acc, term);
    for (int t = begin; t < end; t++) {
      at_point(t);
      if (m.predicate.defined() && !eval_.truth(m.predicate)) continue;
      for (size_t i = 0; i < acc.size(); i++) set(term[i], eval_.of(m.accumulators[i].term));
      bind_accumulators(k, s);
      for (size_t i = 0; i < acc.size(); i++) s[k].accumulators[i] = eval_.of(step[i]);
    }
  }

  const OnlinePlan &plan_;
  CheckEvaluator &eval_;
  bool in_field_, count_as_one_ = false;
  CheckOptions options_;
  std::map<Key, bool> keys_;
  std::map<Key, Values> textbook_;
  std::map<Key, double> magnitude_;
};

// ---- fields ----------------------------------------------------------------------------------------

std::string field_run(const OnlinePlan &plan, const CheckOptions &o, References which, bool split) {
  FieldEvaluator eval(o.seed);
  Simulation sim(plan, eval, true, o);
  States s = sim.start_states();
  const int half = split ? o.points / 3 : o.points;
  sim.stream(s, 0, half, which);
  if (split) {
    States other = sim.start_states();
    sim.stream(other, half, o.points, which);
    sim.merge(s, other);
  }
  for (const auto &[k, used] : sim.keys()) {
    const Member &m = sim.member(k);
    const bool extreme = is_extreme(m);
    if (extreme && m.repair_class == RepairClass::Independent) continue;
    if (extreme) {
      if (std::string e = sim.check_points(k); !e.empty()) return e;
      continue;
    }
    const Values wanted = sim.textbook(k), got = sim.results(k, s, true);
    for (size_t i = 0; i < wanted.size(); i++) {
      const bool is_float = m.written[i].type().is_float();
      if (is_float ? eval.same(wanted[i], got[i]) : wanted[i].i == got[i].i) continue;
      return m.func + (split ? ": two merged halves differ from the whole"
                       : which == References::Random
                           ? ": streaming with random references differs"
                           : ": streaming with the plan's own references differs");
    }
  }
  return {};
}

// ---- floats ----------------------------------------------------------------------------------------

/// All members' results: textbook in double and as typed, one pass in double and as typed, two merged halves.
struct FloatRun {
  Values values;
  double magnitude = 0;
};

std::vector<FloatRun> float_run(const OnlinePlan &plan, const CheckOptions &o, bool wide,
                                double size, Masks masks, int form) {
  RealEvaluator eval(o.seed, wide, size, masks, o.points, o.block);
  Simulation sim(plan, eval, false, o);
  std::vector<FloatRun> runs;
  States s;
  if (form > 0) {
    s = sim.start_states();
    const int half = form == 2 ? o.points / 3 : o.points;
    sim.stream(s, 0, half, References::Own);
    if (form == 2) {
      States other = sim.start_states();
      sim.stream(other, half, o.points, References::Own);
      sim.merge(s, other);
    }
  }
  for (const auto &[k, used] : sim.keys()) {
    FloatRun r;
    r.values = form == 0 ? sim.textbook(k) : sim.results(k, s, false);
    r.magnitude = form == 0 ? sim.magnitude(k) : sim.spread(k, s);
    runs.push_back(std::move(r));
  }
  return runs;
}

bool same_kind(double a, double b, bool exactly) {
  if (!exactly && !std::isfinite(a)) return true;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

const char *name_of(Masks m) {
  switch (m) {
    case Masks::All: return "all points valid";
    case Masks::None: return "no point valid";
    case Masks::NotFirst: return "first block masked";
    case Masks::OnlyFirst: return "only the first block valid";
    case Masks::NotLast: return "last block masked";
    case Masks::OnlyLastPoint: return "only the last point valid";
    default: return "random points valid";
  }
}

std::string compare_row(const Program &, const OnlinePlan &plan, const CheckOptions &o, double size,
                        Masks masks) {
  const auto exact = float_run(plan, o, true, size, masks, 0);
  const auto typed = float_run(plan, o, false, size, masks, 0);
  RealEvaluator eval(o.seed, true, size, masks, o.points, o.block);
  Simulation sim(plan, eval, false, o);
  const int blocks = (o.points + o.block - 1) / o.block;
  const double bound =
      plan.bound.per_block * blocks + plan.bound.per_point * o.block + plan.bound.fixed + o.points;
  for (int form = 1; form <= 2; form++) {
    const auto wide = float_run(plan, o, true, size, masks, form);
    const auto narrow = float_run(plan, o, false, size, masks, form);
    size_t n = 0;
    for (const auto &[k, used] : sim.keys()) {
      const Member &m = sim.member(k);
      const size_t at = n++;
      for (size_t v = 0; v < m.written.size(); v++) {
        const std::string where = m.func + ", " + name_of(masks) + ", values up to " +
                                  std::to_string(size) + (form == 2 ? ", merged" : "");
        if (!m.written[v].type().is_float()) {
          if (exact[at].values[v].i != wide[at].values[v].i) return where + ": differs";
          continue;
        }
        const double e = exact[at].values[v].d, w = wide[at].values[v].d, t = typed[at].values[v].d,
                     f = narrow[at].values[v].d;
        const std::string numbers = ": textbook " + std::to_string(e) + ", one pass " +
                                    std::to_string(w) + " (double); " + std::to_string(t) + ", " +
                                    std::to_string(f) + " (as typed)";
        if (!same_kind(e, w, o.same_infinities) || !same_kind(t, f, o.same_infinities))
          return where + numbers;
        if (!std::isfinite(e) || !std::isfinite(t)) continue;
        const double scale = std::max({exact[at].magnitude, wide[at].magnitude, std::abs(e)});
        if (std::abs(w - e) > 1e-9 * scale + 1e-300) return where + numbers;
        const double u = m.written[v].type().bits() == 64 ? 1.2e-16 : 6.0e-8;
        const double members = static_cast<double>(plan.members.size());
        if (std::abs(f - e) > 8 * std::abs(t - e) + bound * members * u * scale + 1e-37)
          return where + numbers;
      }
    }
  }
  return {};
}

}  // namespace

std::string check_in_fields(const Program &p, const OnlinePlan &given,
                            const CheckOptions &options) {
  const OnlinePlan plan = flattened(p, given);
  for (References which : {References::Random, References::Own}) {
    for (bool split : {false, true}) {
      const std::string e = field_run(plan, options, which, split);
      if (!e.empty()) return e;
    }
  }
  return {};
}

std::string check_in_floats(const Program &p, const OnlinePlan &given,
                            const CheckOptions &options) {
  const OnlinePlan plan = flattened(p, given);
  for (int m = 0; m < static_cast<int>(Masks::kCount); m++) {
    for (double size : {1.0, 30.0, 1e4}) {
      const std::string e = compare_row(p, plan, options, size, static_cast<Masks>(m));
      if (!e.empty()) return e;
    }
  }
  return {};
}

void verify_plan(const Program &p, const OnlinePlan &plan) {
  CheckOptions o;
  for (o.seed = 1; o.seed <= 4; o.seed++) {
    std::string e = check_in_fields(p, plan, o);
    if (e.empty()) e = check_in_floats(p, plan, o);
    if (e.empty()) continue;
    raise(Diagnostic("X0001", plan.last().loc,
                     "the one-pass form of " + plan.func + " is not what the algorithm says")
              .because(e)
              .because(certificate(plan)));
  }
}

}  // namespace calotype::transform
