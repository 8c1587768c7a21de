// The simplifier's state: what is known at this point, memos, and the steps on linear forms that its parts share.
//
// Expressions are rebuilt bottom-up, each shared node once per set of facts. Integers that index (Int(32), Int(64)) go
// through linear forms (simplify_affine.cpp), conditions through `form <= 0` (simplify_compare.cpp), everything else
// through the rule table (rules.h). All results are interned: equal results are equal pointers.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>

#include "../ir/equal.h"
#include "const_ranges.h"
#include "intern.h"
#include "linear_ops.h"
#include "residues.h"
#include "simplify.h"

namespace calotype::analysis {

class Simplifier {
public:
  explicit Simplifier(const Facts &facts);
  Expr mutate(const Expr &e);
  /// The same for one of many expressions that have parts in common, each built for itself.
  Expr simplify(const Expr &e) { return mutate(intern(e)); }
  size_t size() const { return interner_.size(); }  ///< nodes kept alive
  ir::Stmt mutate(const ir::Stmt &s);
  /// Tries harder than mutate to show that a condition holds.
  bool prove(const Expr &condition);
  /// The largest constant that `e` provably is not below (above).
  std::optional<int64_t> lower_bound(const Expr &e);
  std::optional<int64_t> upper_bound(const Expr &e);

private:
  // --- Facts (simplifier.cpp) ----------------------------------------------------------------------------------
  /// Facts and bindings that hold until the end of its scope.
  class Assume {
  public:
    explicit Assume(Simplifier *s);
    ~Assume();
    Assume(const Assume &) = delete;
    Assume &operator=(const Assume &) = delete;
    void truth(const Expr &condition, bool value = true);  ///< `condition`: simplified
    void range(ir::Name n, ConstInterval r);
    void residue(ir::Name n, ModulusRemainder r);
    void replace(ir::Name n, const Expr &value);  ///< uses of n become value
    void bind_to(
        ir::Name n,
        const Expr &value);  ///< n is a new variable here that goes away: uses become value
    void data(ir::Name n);   ///< the variable just bound is data
    void non_negative(const LinearForm &f);
    /// n is a new variable here; returns the name to use, another one if n already means something in scope.
    ir::Name bind(ir::Name n);
    bool learned() const { return learned_; }
    /// Facts from here on are about the variable just bound only: if it is a new name, the memo stays valid.
    void about_new_name() { keep_memo_ = !outer_; }

  private:
    void fresh_memo();
    Simplifier *s_;
    size_t truths_, bools_;
    std::vector<ir::Name> ranges_, residues_, replaced_, active_, data_;
    std::unique_ptr<struct SimplifierMemo> outer_;
    bool learned_ = false;
    bool keep_memo_ = false;  ///< facts so far are about a name that no memo mentions
  };
  friend class Assume;

  // --- Linear forms (simplify_affine.cpp). Forms are normalised, their terms simplified and interned. --------------
  const LinearForm &form_of(const Expr &simplified);
  LinearForm atom(const Expr &e) { return {{{intern(e), 1}}, 0}; }
  void gather(const Expr &e, int64_t k, bool root, LinearForm *into);
  LinearForm product(const Expr &a, const Expr &b);
  LinearForm divide(LinearForm f, int64_t k, Type t);
  LinearForm modulo(LinearForm f, int64_t k, Type t);
  /// A value the program computes, which may be as large as its type allows; indices are taken to be far from that.
  bool is_data(const Expr &e);
  bool compute_is_data(const Expr &e);
  bool may_shift(const LinearForm &f);  ///< no term is data
  LinearForm finish_min_max(bool is_min, std::vector<LinearForm> operands, Type t);
  LinearForm min_max(bool is_min, std::vector<LinearForm> operands, Type t);
  Expr build(LinearForm f, Type t);  ///< merges div/mod pairs, then to_expr
  Expr visit_index(const Expr &e);

  // --- Conditions (simplify_compare.cpp) -------------------------------------------------------------------------
  /// f <= 0. `written`: the comparison as written, kept if rewriting it could overflow.
  Expr at_most_zero(LinearForm f, Type t, bool split = true, const Expr &written = {});
  Expr plain_comparison(const LinearForm &f, Type t);  ///< f <= 0, written out
  Expr is_zero(LinearForm f, Type t);
  Expr visit_compare(const Expr &e);
  Expr visit_and(const ir::And *op);
  Expr visit_or(const ir::Or *op);
  Expr negated(const Expr &condition);  ///< simplified operand and result
  const bool *known(const Expr &condition) const;

  // --- Proofs (prover.cpp) -----------------------------------------------------------------------------------------
  /// A constant that f is not below; stops searching at `enough`.
  std::optional<int64_t> lower(const LinearForm &f, int64_t enough, int steps);
  std::optional<int64_t> lower_in(LinearForm f, int64_t enough, int depth, int *steps);
  std::optional<int64_t> lower_scalar(const LinearForm &f, int64_t enough, int depth, int *steps);
  bool not_negative(const LinearForm &f, int steps);

  // --- Other expressions (simplify_expr.cpp, simplify_vector.cpp) --------------------------------------------------
  Expr visit(const Expr &e);
  Expr visit_children(const Expr &e);
  Expr visit_let(const ir::Let *op);
  Expr visit_call(const ir::Call *op);
  Expr visit_cast(const ir::Cast *op);
  Expr visit_select(const ir::Select *op);
  Expr visit_load(const ir::Load *op);
  Expr visit_vector(const Expr &e);  ///< Ramp, Broadcast, Shuffle, VectorReduce
  Expr hoist_broadcast(const Expr &e);
  Expr apply_rules(const Expr &e);
  bool is_cheap(const Expr &value);
  Expr intern(const Expr &e) { return interner_.intern(e); }
  std::vector<Expr> mutate_all(const std::vector<Expr> &es);

  // --- Statements (simplify_stmt.cpp) ------------------------------------------------------------------------------
  ir::Stmt visit_for(const ir::For *op);
  ir::Stmt visit_if(const ir::IfThenElse *op);
  Expr keep_effects(const Expr &before, const Expr &after);
  ir::Stmt visit_lets(const ir::Stmt &s);
  ir::Stmt visit_block(const ir::Stmt &s);
  void learn_loop(Assume &assume, ir::Name n, const Expr &min, const Expr &extent);
  void learn_let(Assume &assume, ir::Name n, const Expr &value);

  Interner interner_;
  std::unique_ptr<SimplifierMemo> memo_;
  std::unordered_map<const ir::IRNode *, LinearForm> forms_;
  ir::Scope<ConstInterval> ranges_;
  ir::Scope<ModulusRemainder> residues_;
  ir::Scope<Expr> replacements_;
  std::vector<LinearForm> truths_;                                            ///< each >= 0
  std::unordered_map<const ir::IRNode *, std::vector<size_t>> truths_about_;  ///< by term
  std::vector<const ir::IRNode *> bool_order_;
  std::unordered_map<const ir::IRNode *, bool> bools_;  ///< conditions known to be true or false
  std::unordered_map<ir::Name, int>
      active_;                         ///< names that bindings, facts or replacements in scope use
  std::unordered_set<ir::Name> seen_;  ///< names that may occur in the memo
  std::unordered_set<ir::Name> data_variables_;  ///< lets in scope that are data
  std::unordered_set<ir::Name> taken_;           ///< new names made by bind
  std::unique_ptr<Assume> given_;                ///< the caller's facts
  /// What chains of lets made here use, until the statement around them is asked.
  std::unordered_map<const ir::IRNode *, std::pair<ir::Stmt, std::unordered_set<ir::Name>>> used_;
};

/// Results that hold under the present facts.
struct SimplifierMemo {
  SimplifierMemo(const ir::Scope<ConstInterval> *r, const ir::Scope<ModulusRemainder> *m)
      : ranges(r), residues(m) {}
  std::unordered_map<const ir::IRNode *, Expr> exprs;
  std::unordered_map<const ir::IRNode *, bool> data;
  ConstRanges ranges;
  Residues residues;
  std::vector<Expr> keep;
};

}  // namespace calotype::analysis
