// Obligations N1 to N8 of a solved plan with their evidence, and the certificate that `explain` prints.
#include <cctype>
#include <sstream>

#include "../ir/print.h"
#include "../ir/visit.h"
#include "collect.h"
#include "obligations.h"

namespace calotype::transform {

using namespace ir;

namespace {

void replace_all(std::string &text, const std::string &what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

std::string pretty(const Expr &e, size_t longest) {
  std::string text = to_short_string(e, longest);
  // M.ref -> M, M.old -> M, M.new -> M', O.acc -> O; types say nothing here.
  for (const char *t : {":f32", ":f64", ":f16", ":bf16", ":i32", ":bool"}) replace_all(text, t, "");
  for (const char *s : {".ref", ".old"}) replace_all(text, s, "");
  replace_all(text, ".new", "'");
  replace_all(text, ".acc",
              "\x01");  // numbered accumulators keep their names, single ones are the Func
  for (size_t at = 0; (at = text.find('\x01', at)) != std::string::npos;) {
    const bool numbered =
        at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1]));
    text.replace(at, 1, numbered ? ".acc" : "");
  }
  return text;
}

namespace {

std::string names(const std::vector<Name> &list) {
  std::string all;
  for (const Name &n : list) all += (all.empty() ? "" : ", ") + n.str();
  return all;
}

std::string call(const Member &m) {
  const std::string index = m.accumulators.size() && m.value_index && !m.counts
                                ? "." + std::to_string(m.value_index)
                                : "";
  return m.func + (m.written.size() > 1 ? "" : index) + "(" + names(m.args) + ")";
}

bool moves(const Center &c) { return c.reference >= 0; }

class Notes {
public:
  explicit Notes(OnlinePlan &plan) : plan_(plan) {}

  void run() {
    definedness();
    empty_rows();
    bounded_factors();
    units();
    conditioning();
    rounding();
    types();
    plan_.obligations.push_back(
        {"N8",
         "no Func of the cascade asks for strict_float; online is a directive, so adding in "
         "another order is allowed"});
  }

private:
  void note(const std::string &name, const std::string &text) {
    plan_.obligations.push_back({name, text});
  }

  /// What `text_of` says of the members, those of one text together: "L, O: ...".
  template <typename F> std::string each(const F &text_of) {
    std::vector<std::pair<std::string, std::string>> said;
    for (const Member &m : plan_.members) {
      const std::string t = text_of(m);
      if (t.empty()) continue;
      size_t i = 0;
      while (i < said.size() && said[i].second != t) i++;
      if (i == said.size()) said.push_back({"", t});
      said[i].first += (said[i].first.empty() ? "" : ", ") + m.func.str();
    }
    std::string all;
    for (const auto &[who, what] : said) all += (all.empty() ? "" : "; ") + who + ": " + what;
    return all;
  }

  std::string extreme_names(const Member &m) {
    std::string all;
    for (const Center &c : m.centers) {
      if (!moves(c)) continue;
      const Name n = plan_.members[m.references[c.reference].member].func;
      if (all.find(n.str()) == std::string::npos) all += (all.empty() ? "" : ", ") + n.str();
    }
    return all;
  }

  void definedness() {
    const std::string t = each([&](const Member &m) {
      const std::string e = extreme_names(m);
      if (e.empty()) return std::string();
      return "while " + e +
             " is its identity nothing is carried over; a term is 0 where the element of " + e +
             " is the identity (proved by cases of its masks, for finite data)";
    });
    note("N1", t.empty() ? "no accumulator is relative to a maximum or minimum" : t);
  }

  void empty_rows() {
    const std::string t = each([&](const Member &m) {
      if (m.deferred.empty()) return std::string();
      return std::string("as written where no point counts");
    });
    note("N2", std::string("a row without any valid point keeps the terms as written, NaN "
                           "included") +
                   (t.empty() ? "" : "; " + t));
  }

  void bounded_factors() {
    const std::string t = each([&](const Member &m) {
      const std::string e = extreme_names(m);
      if (!e.empty())
        return "the factor is in [0, 1], as " + e +
               " only moves one way and its coefficient has a "
               "known sign; no exponent of a term exceeds 0";
      if (!m.centers.empty())
        return std::string(
            "a binomial matrix in the change of the mean, which is no more than the "
            "range of the data");
      return std::string();
    });
    note("N3", t.empty() ? "nothing is multiplied while the pass runs" : t);
  }

  void units() {
    const std::string t = each([&](const Member &m) {
      if (m.deferred.empty()) return std::string();
      return "reduced values come in once, at the end, as `" + m.deferred +
             "`; no inverse is taken";
    });
    note("N4", t.empty() ? "no factor is inverted" : t);
  }

  void conditioning() {
    const std::string t = each([&](const Member &m) {
      if (m.repair_class != RepairClass::FiniteRank) return std::string();
      return std::string(m.centers.empty() || moves(m.centers[0])
                             ? "products are accumulated as they are and put together at the end"
                             : "moments about the mean so far, which do not cancel");
    });
    note("N5", t.empty() ? "one accumulator per value: nothing cancels that did not before" : t);
  }

  // A repair costs exp's 1.1 ulp (2.2 u), the rounded argument (at most |d| exp(-|d|) u, 0.4) and a product; a matrix
  // row costs a product and a sum per entry; then the block's sum is added.
  void rounding() {
    NumericBound &b = plan_.bound;
    for (const Member &m : plan_.members) {
      if (m.counts) continue;
      double block = 1;
      if (!extreme_names(m).empty()) block += 3.6;
      if (m.repairs_at_end) block += 2.0 * static_cast<double>(m.accumulators.size());
      b.per_block = std::max(b.per_block, block);
      if (!m.deferred.empty()) b.fixed = std::max(b.fixed, 4.0);
      if (m.repairs_at_end) b.fixed = std::max(b.fixed, 8.0);
    }
    note("N6", "see the bound below; the textbook form adds one rounding per point");
  }

  void types() {
    const std::string t = each([&](const Member &m) {
      if (m.counts) return std::string();
      std::string all;
      for (const Accumulator &a : m.accumulators) {
        const std::string type = calotype::to_string(a.type);
        if (all.find(type) == std::string::npos) all += (all.empty() ? "" : ", ") + type;
      }
      return all;
    });
    note("N7", "accumulators: " + t);
  }

  OnlinePlan &plan_;
};

void write_member(std::ostream &o, const Member &m) {
  o << "  " << call(m) << ": " << to_string(m.combine);
  if (m.counts) {
    o << ", counts points";
    if (m.predicate.defined()) o << " where " << pretty(m.predicate);
    o << "\n";
    return;
  }
  o << ", " << to_string(m.repair_class);
  if (m.repair_class == RepairClass::FiniteRank) o << " " << m.accumulators.size();
  o << "\n";
  for (size_t i = 0; i < m.written.size(); i++) {
    o << "    term      " << pretty(m.written[i], 400) << "\n";
    if (m.init[i].defined()) o << "    with      " << pretty(m.init[i], 400) << " at the end\n";
  }
  for (const Center &c : m.centers) {
    if (moves(c)) continue;
    o << "    about     " << pretty(make_var(c.before, c.type)) << " = " << pretty(c.running, 400)
      << "\n";
  }
  const bool plain = m.accumulators.size() == 1 && m.deferred.empty();
  for (const Accumulator &a : m.accumulators) {
    const std::string name = pretty(make_var(a.symbol, a.type));
    if (m.accumulators.size() > 1 || !plain)
      o << "    keeps     " << name << " of " << pretty(a.term, 400) << "\n";
    const Variable *v = a.repair.as<Variable>();
    if (!v || v->name != a.symbol)
      o << "    repair    " << name << " <- " << pretty(a.repair, 400) << "\n";
  }
  if (!m.deferred.empty()) o << "    at the end " << m.deferred << "\n";
}

}  // namespace

void note_obligations(OnlinePlan &plan) { Notes(plan).run(); }

std::string certificate(const OnlinePlan &plan) {
  std::ostringstream o;
  o << "online: " << plan.func << ".update(" << plan.stage - 1 << ") in one pass over " << plan.var
    << "\n";
  for (const Member &m : plan.members) write_member(o, m);
  if (!plan.inlined.empty()) o << "  put in: " << names(plan.inlined) << "\n";
  if (!plan.read_afterwards.empty())
    o << "  read after the pass by: " << names(plan.read_afterwards) << "\n";
  for (const Obligation &n : plan.obligations) o << "  " << n.name << "  " << n.evidence << "\n";
  const NumericBound &b = plan.bound;
  o << "  bound: |error| <= (" << b.per_block << " blocks + " << b.per_point
    << " points of a block + " << b.fixed
    << ") u * sum of |what is accumulated|, besides what the terms lose\n";
  return o.str();
}

}  // namespace calotype::transform
