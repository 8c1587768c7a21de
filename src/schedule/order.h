// How much of an update's order matters: which of its variables keep different iterations apart, and whether the update
// is a sum or the like that any order computes exactly.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "associative.h"

namespace calotype::schedule {

struct OrderFacts {
  /// The order of the update's iterations does not change its value (integer sums, products, minima ...).
  bool commutative = true;
  std::string ordered_because;  ///< why it is not commutative
  /// Variables that keep iterations apart: two with different values never touch the same element. The others are here
  /// with the reason why not.
  std::unordered_map<ir::Name, std::string> dependent;
  SrcLoc loc;

  bool is_free(const std::vector<ir::Name> &vars) const {
    for (ir::Name v : vars) {
      if (dependent.count(v)) return false;
    }
    return true;
  }
};
CALO_EXPORT OrderFacts order_facts(const ir::Function &f, int stage);

/// Facts of the stages asked for, computed once.
class OrderCache {
public:
  const OrderFacts &of(const ir::Function &f, int stage);
  const Reduction &reduction_of(const ir::Function &f, int stage);
  void forget(ir::Name func) {  ///< its definitions changed
    facts_.erase(func);
    reductions_.erase(func);
  }

private:
  std::unordered_map<ir::Name, std::vector<std::unique_ptr<OrderFacts>>> facts_;
  std::unordered_map<ir::Name, std::vector<std::unique_ptr<Reduction>>> reductions_;
};

}  // namespace calotype::schedule
