#include "search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "../src/base/diagnostic.h"
#include "../src/schedule/apply.h"
#include "../src/schedule/text.h"
#include "plan.h"

namespace calotype::autoscheduler {

namespace {

const char *const kHead = "calotype 1\n";
const char *const kPath = "autoscheduler";

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Without the line "calotype 1".
std::string body_of(const schedule::Schedule &s) {
  const std::string text = schedule::print_schedule(s);
  return text.substr(text.find('\n') + 1);
}

/// Removes the directives that `e` is about; false if it names none.
bool remove_refused(const Error &e, schedule::Schedule &s) {
  std::set<size_t> drop;
  for (const Diagnostic &d : e.diagnostics()) {
    int best = -1;
    for (size_t i = 0; i < s.directives.size(); i++) {
      const SrcLoc &at = s.directives[i].loc;
      if (at.line == d.loc.line && (at.column <= d.loc.column || best < 0))
        best = static_cast<int>(i);
    }
    if (best >= 0) drop.insert(static_cast<size_t>(best));
  }
  for (auto i = drop.rbegin(); i != drop.rend(); ++i)
    s.directives.erase(s.directives.begin() + static_cast<std::ptrdiff_t>(*i));
  return !drop.empty();
}

}  // namespace

std::string legal_part(const Problem &p, const std::string &text, schedule::Scheduled *scheduled) {
  schedule::Schedule s = schedule::parse_schedule(kHead + text, kPath);
  for (;;) {
    try {
      *scheduled = schedule::apply(p.program, s, p.target);
      break;
    } catch (const Error &e) {
      if (s.directives.empty()) throw;
      if (!remove_refused(e, s)) s.directives.pop_back();
    }
  }
  return body_of(s);
}

namespace {

class Search {
public:
  Search(const Problem &p, const SearchOptions &o)
      : p_(p),
        o_(o),
        facts_(facts_of(p)),
        machine_(machine_for(p)),
        random_(o.seed),
        start_(now()) {}

  SearchResult run() {
    for (const std::string &text : o_.seeds) consider_text(text);
    for (const double at_most : {0.0, 8.0, 40.0, 200.0}) {
      consider(simple_plan(p_, facts_, at_most));
      consider(sliding_plan(p_, facts_, at_most));
    }
    if (members_.empty()) {  // throws where the pipeline has no legal schedule at all
      schedule::Scheduled s;
      legal_part(p_, "", &s);
      predict(p_, s, machine_);
      consider_text("");
    }
    const bool measuring = o_.measure && o_.budget_seconds > 0;
    const int rounds = measuring ? 1 << 20 : 1;
    for (int round = 0; round < rounds && !over(); round++) {
      evolve(measuring ? kChangesPerRound : changes_without_measuring());
      if (measuring) measure_best();
    }
    if (measuring) measure_finalists();
    result_.best = best();
    return result_;
  }

private:
  static constexpr int kPopulation = 48, kChangesPerRound = 40, kMeasuredPerRound = 4,
                       kFinalists = 3;

  struct Member {
    Candidate c;
    Plan plan;
    bool has_plan = false;
  };

  /// A count, not a time: the same on every machine. Lowering's cost grows with the number of stages.
  int changes_without_measuring() const {
    return std::max(8, 160 / std::max(1, static_cast<int>(facts_.funcs.size())));
  }

  bool over() const {
    if (o_.stop && o_.stop()) return true;
    return o_.budget_seconds > 0 && now() - start_ >= o_.budget_seconds;
  }

  /// Measured ones by their time, the others by the model, set right by what the measured ones' ratio is.
  double rank(const Member &m) const {
    return m.c.measured >= 0 ? m.c.measured : m.c.predicted * correction_;
  }

  void consider_text(const std::string &text) {
    Member m;
    try {
      schedule::Scheduled s;
      m.c.text = legal_part(p_, text, &s);
      if (!known_.insert(m.c.text).second) return;
      m.c.predicted = predict(p_, s, machine_);
    } catch (const Error &) {
      result_.refused++;
      return;
    }
    result_.considered++;
    members_.push_back(std::move(m));
  }

  void consider(Plan plan) {
    const size_t before = members_.size();
    consider_text(directives_of(facts_, plan));
    if (members_.size() > before) {
      members_.back().plan = std::move(plan);
      members_.back().has_plan = true;
    }
  }

  void sort() {
    std::stable_sort(members_.begin(), members_.end(),
                     [&](const Member &a, const Member &b) { return rank(a) < rank(b); });
  }

  void evolve(int changes) {
    for (int i = 0; i < changes && !over(); i++) {
      sort();
      if (members_.size() > kPopulation) members_.resize(kPopulation);
      // the better a plan, the more often it is changed
      const size_t n = members_.size();
      const size_t at = std::min(random_() % n, random_() % n);
      if (!members_[at].has_plan) {
        schedule::Schedule s = schedule::parse_schedule(kHead + members_[at].c.text, kPath);
        if (mutate_number(s, random_)) consider_text(body_of(s));
        continue;
      }
      Plan plan = members_[at].plan;
      const int steps = 1 + static_cast<int>(random_() % 3);
      for (int k = 0; k < steps; k++) mutate(plan, p_, facts_, random_);
      consider(std::move(plan));
    }
    sort();
  }

  void measure_best() {
    int done = 0;
    for (size_t i = 0; i < members_.size() && done < kMeasuredPerRound && !over(); i++) {
      Member &m = members_[i];
      if (m.c.measured >= 0) continue;
      const double limit = best_ns_ > 0 ? 3 * best_ns_ : 20e9;
      const Measurement r = o_.measure(m.c.text, limit);
      done++;
      result_.measured++;
      if (r.ns < 0) {
        result_.failed++;
        m.c.measured = HUGE_VAL;
        continue;
      }
      m.c.measured = r.ns;
      ratios_.push_back(r.ns / m.c.predicted);
      std::sort(ratios_.begin(), ratios_.end());
      correction_ = ratios_[ratios_.size() / 2];
      if (best_ns_ <= 0 || r.ns < best_ns_) {
        best_ns_ = r.ns;
        if (o_.progress) o_.progress(m.c, result_.measured, now() - start_);
      }
    }
    sort();
  }

  /// The fastest few again, in turn: one lucky run shall not decide.
  void measure_finalists() {
    sort();
    std::vector<Member *> fastest;
    for (Member &m : members_) {
      if (m.c.measured >= 0 && m.c.measured < HUGE_VAL && fastest.size() < kFinalists)
        fastest.push_back(&m);
    }
    if (fastest.size() < 2 || !o_.remeasure) return;
    for (Member *m : fastest) {
      const Measurement r = o_.remeasure(m->c.text, 3 * best_ns_);
      if (r.ns >= 0) m->c.measured = (m->c.measured + r.ns) / 2;
    }
  }

  /// The fastest measured one; without any, the one predicted to be.
  Candidate best() {
    sort();
    const Member *best = nullptr;
    for (const Member &m : members_) {
      if (m.c.measured >= 0 && m.c.measured < HUGE_VAL &&
          (!best || m.c.measured < best->c.measured))
        best = &m;
    }
    if (best) return best->c;
    return members_.empty() ? Candidate() : members_.front().c;
  }

  const Problem &p_;
  const SearchOptions &o_;
  Facts facts_;
  Machine machine_;
  std::mt19937_64 random_;
  double start_, correction_ = 1, best_ns_ = -1;
  std::vector<Member> members_;
  std::vector<double> ratios_;
  std::set<std::string> known_;
  SearchResult result_;
};

}  // namespace

std::string reference_directives(const ir::Program &p, const Target &t) {
  std::string text;
  for (const FuncFacts &f : facts_of({p, t, {}, 1}).funcs) {
    if (f.may_store) text += f.name + ".compute_root()\n";
  }
  return text;
}

SearchResult search(const Problem &p, const SearchOptions &options) {
  return Search(p, options).run();
}

}  // namespace calotype::autoscheduler
