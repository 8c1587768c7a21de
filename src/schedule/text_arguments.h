// The arguments of directives in a schedule file: values, lists, places, expressions. Between text_scanner.h and text.cpp.
#pragma once

#include <string>
#include <vector>

#include "../ir/parse.h"
#include "directive.h"
#include "text_scanner.h"

namespace calotype::schedule {

class ArgumentParser : protected TextScanner {
public:
  using TextScanner::TextScanner;

protected:
  /// What stands between the parentheses of `d`, in the form that its parameters ask for. A directive that is not `known` is
  /// read over.
  void directive_arguments(Directive &d, bool known);
  /// (2) behind `update`; () is the first.
  int update_index();
  Expr expression();

private:
  void func_args(std::vector<Arg> &out, char close);
  void func_then_arguments(Directive &d);
  void online_args(Directive &d);
  void level_args(Directive &d);
  void arguments(std::vector<Arg> &out, char close);
  Arg argument(bool in_list);
  Arg value();
  Arg value_inside();
  Arg string_value();
};

}  // namespace calotype::schedule
