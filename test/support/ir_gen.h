// Random IR for round-trip and comparison tests: well typed, every kind of node, edge values of every type.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/nodes.h"

namespace calotype::test {

class IrGenerator {
public:
  explicit IrGenerator(uint32_t seed) : random_(seed) {}
  /// An expression of type t whose tree is at most `depth` deep.
  Expr expr(Type t, int depth);
  ir::Stmt stmt(int depth);
  Type any_type();  ///< scalar or vector, numeric
  Expr constant(Type t);
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  /// What expr may use besides constants and operations; evaluation wants a closed subset.
  bool calls = true, loads = true, odd_names = true, params = true, halves = true, vectors = true;
  std::vector<std::string> variables = {"x", "y", "w"};

private:
  std::mt19937 random_;
  Expr leaf(Type t);
  Expr vector_form(Type t, int depth);
  Expr intrinsic(Type t, int depth);
  Expr index(int lanes, int depth);
  std::string name();
  Ref<const ir::Parameter> param(Type t, bool is_buffer);
};

}  // namespace calotype::test
