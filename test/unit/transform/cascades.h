// Small cascades as text, for the tests of online().
#pragma once

#include <string>

#include "ir/parse.h"
#include "transform/cascade.h"

namespace calotype::test {

/// A program around Funcs that reduce over r in [0, 24): x is @X(r, i), v is @V(r, d).
inline std::string cascade_text(const std::string &funcs, const std::string &output = "O") {
  return "program cascade {\n"
         "  param X: f32[2]\n  param V: f32[2]\n  param W: f32[1]\n  param B: f32[2]\n"
         "  param c: f32\n  param n: i32\n" +
         funcs + "  output " + output + "\n}\n";
}
inline std::string reduction(const std::string &name, const std::string &args,
                             const std::string &init, const std::string &update,
                             const std::string &domain = "r in 0 +: 24",
                             const std::string &type = "f32") {
  const std::string left = name + "(" + args + ")";
  return "  func " + left + ": " + type + " {\n    " + left + " = " + init + "\n    " + left +
         " = " + update + " for " + domain + "\n  }\n";
}
inline std::string pure_func(const std::string &name, const std::string &args,
                             const std::string &value, const std::string &type = "f32") {
  const std::string left = name + "(" + args + ")";
  return "  func " + left + ": " + type + " {\n    " + left + " = " + value + "\n  }\n";
}
inline std::string sum_of(const std::string &name, const std::string &args, const std::string &term,
                          const std::string &domain = "r in 0 +: 24") {
  return reduction(name, args, "0.0f", name + "(" + args + ") + " + term, domain);
}
inline std::string max_of(const std::string &name, const std::string &args, const std::string &term,
                          const std::string &domain = "r in 0 +: 24") {
  return reduction(name, args, "-inf:f32", "max(" + name + "(" + args + "), " + term + ")", domain);
}

inline transform::OnlineResult plan_of(const std::string &text, std::vector<ir::Name> members,
                                       const std::string &func = "O",
                                       const std::string &var = "r") {
  transform::OnlineRequest request;
  request.func = func;
  request.var = var;
  request.members = std::move(members);
  return transform::plan_online(ir::parse_program(text, SrcLoc{"cascade.txt", 1, 1, 0}), request);
}

}  // namespace calotype::test
