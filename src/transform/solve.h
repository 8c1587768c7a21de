// Internal to transform: finds, for one member of a cascade, what is kept while the pass runs and how it is repaired.
//
// In order: factors that depend on reduced values alone wait until the end (strip); what is left either uses no reduced
// value, or has them in an exponent (Scale: the accumulator is multiplied by exp of the difference), or is a sum of few
// products (FiniteRank: one accumulator per product, or, where the reduced value is a mean, the Taylor coefficients
// about the mean so far, whose repair is a binomial matrix and which do not cancel).
#pragma once

#include <functional>
#include <map>

#include "../ir/visit.h"
#include "collect.h"
#include "prove.h"

namespace calotype::transform {

constexpr size_t kMostAccumulators = 4;
constexpr int kFirstCount =
    1 << 20;  ///< references to counting members, until they get their places

/// An expression as core, then the wraps put around it.
struct Stripped {
  using Wrap = std::function<Expr(const Expr &)>;
  Expr core;  ///< undefined: 1
  std::vector<Wrap> wraps;
  Expr wrapped(Expr x) const {
    for (const Wrap &w : wraps) x = w(x);
    return x;
  }
};

struct Addend {
  Expr e;
  bool negative;
};
void split_sum(const Expr &e, bool negative, std::vector<Addend> &out);
Expr join_sum(const std::vector<Addend> &parts, Type t);
Expr all_of(const std::vector<Expr> &conditions);  ///< undefined if there are none
Expr without_casts(Expr e);
bool is_zero(const Expr &e);

/// coefficient * k * product of A_i^power_i
struct TaylorTerm {
  double coefficient = 1;
  std::vector<int> powers;
  Expr k;
};
using TaylorSum = std::vector<TaylorTerm>;

/// Monomials that share what they have of reduced values outside of exponents.
struct Group {
  Monomial r;
  Polynomial k;
};

struct Factor {
  Expr factor;  ///< exp(M.old - M.new)
  std::vector<int> centers;
};

/// core as a product of loop values and of sums that are affine in means.
struct Product {
  double coefficient = 1;
  Expr k;
  std::vector<Expr> conditions;
  std::vector<Expr> sums;  ///< A_i
  std::vector<int> powers;
  std::vector<std::vector<TaylorSum>> slopes;  ///< dA_i / dcenter_j
};

using Order = std::vector<int>;  ///< of derivatives, one per center

class MemberSolver {
public:
  MemberSolver(const ir::Program &p, OnlinePlan &plan, Member &m, std::vector<Member> &counts,
               const KnownSigns &known)
      : p_(p),
        plan_(plan),
        m_(m),
        counts_(counts),
        known_(known),
        sides_(sides_of(plan, m)),
        factoring_(sides_) {}
  void run();

private:
  using Name = ir::Name;

  const ir::Function &func() const;
  std::string suffix() const;
  std::string used_members(const Expr &e);
  Name plan_name(const Reference &r) const;
  const Member &member_of(const Reference &r) const;

  // ---- what may be accumulated at all ------------------------------------------------------------------
  void check_types();
  [[noreturn]] void refuse_stuck(const Stuck &s);

  // ---- parts of the result -----------------------------------------------------------------------------
  void keep(const Expr &term, const Expr &repair);
  Expr with_init(const Expr &value) const;
  /// The result where `value` is not the accumulator itself: an empty domain still gives what the algorithm says.
  Expr guarded(const Expr &value);
  Expr not_empty();
  /// Whether some point of this member's domain fulfils `condition`.
  Expr counted(const Expr &condition);
  /// `value` where a term had `condition`, else 0: what was never taken is not multiplied by what may be infinite.
  Expr where_taken(const Expr &condition, const Expr &value);
  /// How many points so far fulfil `predicate` (undefined: all), which is in the Vars of `of`; at `of`'s coordinates `at`
  /// (in this member's Vars).
  Expr count(const Member &of, const Expr &predicate, const std::vector<Expr> &at);
  void add_count(const Member &of, const Expr &predicate, Name name);
  Expr to_now(const Expr &e) const;
  const Reference *reference_named(const Expr &e) const;

  // ---- what can wait -----------------------------------------------------------------------------------
  // e = core * (something of reduced values alone, which the wraps put back).
  Stripped strip(const Expr &e);
  void strip_quotient(const ir::Div *op, Stripped &s);
  void strip_choice(const ir::Select *op, Stripped &s);
  // Logarithms of reduced values in an exponent are factors like any other: exp(x - log(l)) = exp(x) / l.
  void strip_call(const ir::Call *op, Stripped &s);

  // ---- sums --------------------------------------------------------------------------------------------
  void sum(const Expr &f);
  Expr acc_of(size_t i) const;
  void finish(const Stripped &s, const Expr &value);
  static bool bare(const Monomial &m);
  std::vector<Group> grouped(const Polynomial &p);
  /// The parts of exponents that depend on reduced values: the same in every monomial, or nothing repairs them all.
  std::vector<Exponential> shared_exponents(const Polynomial &p, const Expr &core);
  Factor factor_of(const std::vector<Exponential> &exponents);
  Expr difference_of(const Monomial &m, const Exponential &x, Type t, std::vector<int> &centers);
  static bool is_one(const Monomial &m);
  [[noreturn]] void refuse_growth(const Exponential &x, const Expr &part);
  int center(const Reference &r);
  /// acc for the new centers: untouched where they did not move; what was added while a maximum was still its identity
  /// had no value (and is provably nothing for any other maximum), so it goes.
  Expr repaired(const Expr &acc, const Factor &f);
  // N1 and N4: a term is nothing where the maximum's own element is minus infinity.
  void check_identity(const Expr &term, const Factor &f);
  // N3: a term never exceeds the rest of its product, as its exponent is at most 0 with its own point's element in the
  // place of the maximum. Otherwise it might overflow before the maximum has grown.
  void check_ceiling(const Polynomial &p, const Factor &f);
  Expr element_of(const Reference &r) const;
  void scale(const Expr &core, const Polynomial &p, const std::vector<Exponential> &exponents);
  // One accumulator for each factor of loop values, what is of reduced values put to them at the end.
  void raw(const Expr &core, const std::vector<Group> &groups,
           const std::vector<Exponential> &exponents, const Stripped &s);
  /// The condition under which some monomial is not nothing; undefined: always.
  static Expr taken_in(const Polynomial &p);

  // ---- sums about a mean -------------------------------------------------------------------------------
  bool take_factors(const Expr &e, int power, Product &out);
  bool centred(const Expr &core);
  static Expr exchanged(const Expr &e, const Expr &atom, const Center &c);
  static int index_of(const std::vector<Expr> &list, const Expr &e);
  /// The reduced value of a monomial that is otherwise of loop values, or null.
  const Power *only_reduced(const Monomial &m);
  std::vector<TaylorSum> slopes(const Polynomial &a, const std::vector<Expr> &atoms,
                                const Product &p);
  static void add_term(TaylorSum &sum, const TaylorTerm &t);
  static TaylorSum derivative(const TaylorSum &u, size_t j, double divide, const Product &p);
  /// core's derivatives with respect to the centers, each divided by the factorials; those that are not zero.
  std::map<Order, TaylorSum> taylor(const Product &p, size_t centers);
  Expr emit_taylor(const TaylorSum &u, const Product &p);
  static double binomial(int n, int k);
  void keep_basis(const Product &p, const std::map<Order, TaylorSum> &basis);
  static Expr moved(const Center &c);
  // sum / number of points, or the quotient of two sums: so far, the mean of what was seen.
  bool mean(const Expr &atom, Center &c);
  bool is_plain_sum(const Reference &r) const;
  bool is_number_of_points(const Expr &by, bool inverse);

  // ---- max and min -------------------------------------------------------------------------------------
  void extreme(const Expr &f);
  void check_positive(const Stripped &s);
  // max(x + r) = max(x) + r.
  bool shifted(const Expr &f);
  // The same where only the factoring shows it: log(exp(x - m) / l).
  bool shifted_product(const Expr &f, Expr &core, std::vector<Addend> &reduced);
  void best();

  const ir::Program &p_;
  OnlinePlan &plan_;
  Member &m_;
  std::vector<Member> &counts_;
  const KnownSigns &known_;
  Sides sides_;
  Factoring factoring_;
  Type t_;
  Expr acc_;
};

}  // namespace calotype::transform
