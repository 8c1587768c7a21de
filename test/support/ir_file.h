// File tests of IR: a text, and in its comments what should become of it.
//
//   ; test: SUBJECT [option ...]     the first line
//   ; expect: LINE                   one line of the expected result (a blank behind the colon is dropped)
//   f(x) = 1   ; error: L0601 TEXT   this line is wrong: code and a part of the message
//   ; violation: TEXT                the verifier says this, in this order
//   ; var: n = 5                     the value of a free variable
//   ; memory: f:u8 = [1, 2, 3]       a buffer's elements, or  f:u8 * 16  for 16 zeros
//   ; run: f == [3, 4]               the elements after running the statement; for an expression: == 5 or == [1, 2]
//   ; fails: TEXT                    running it stops with this message
// Subjects: print (options: expr), parse (errors), verify (closed, unique_names, flat_storage, no_vector_loops,
// free=x,y), run (expr), or a pass's name. A pass's result is compared with the expect lines, else with
// test/golden/ir/<path>.txt; it must be well formed; and `run` lines hold for the program before and after it.
#pragma once

#include <functional>
#include <string>

#include "ir/nodes.h"

namespace calotype::test {

/// Runs the test in `text`; `path` (below test/, without .ir) names it. Returns what is wrong, empty if nothing.
std::string run_ir_file(const std::string &text, const std::string &path);

using IrPass = std::function<ir::Stmt(const ir::Stmt &)>;
/// Makes `name` a subject:  static const calotype::test::RegisterIrPass unroll("unroll_loops", ...);
struct RegisterIrPass {
  RegisterIrPass(const std::string &name, IrPass pass);
};

}  // namespace calotype::test
