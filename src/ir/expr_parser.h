// The expression half of the parser; parse.cpp builds statements and programs on it (internal to ir).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "../base/diagnostic.h"
#include "lexer.h"
#include "parse.h"
#include "visit.h"

namespace calotype::ir {

class ExprParser {
public:
  ExprParser(const std::string &text, size_t begin, const ParseContext &context, SrcLoc origin);

  Expr expression();  ///< checks depth
  void expect_end(const char *after);
  size_t last_end() const { return lexer_.last_end(); }
  void end_at_newline(bool yes) { newline_ends_ = yes; }

protected:
  /// An expression and how deep its tree is. `literal`: a constant without type suffix, which adapts to its partner.
  struct Parsed {
    Expr e;
    int depth = 1;
    bool literal = false;
  };
  struct Nested;  ///< counts one level of nesting

  const std::string &text_;
  const ParseContext &context_;
  SrcLoc origin_;
  Lexer lexer_;
  bool newline_ends_ = false;
  int nesting_ = 0, brackets_ = 0;
  Scope<Type> vars_;                  // types of let and loop variables
  Scope<std::vector<Type>> storage_;  // element types of Funcs, buffers and allocations
  std::unordered_map<std::string, Ref<Parameter>> params_;
  const std::vector<std::string> *known_funcs_ = nullptr;  // if set, calls of others are errors

  [[noreturn]] void fail(SrcLoc at, const std::string &what, const std::string &help = {}) const;
  [[noreturn]] void fail_limit(SrcLoc at, const std::string &what) const;
  [[noreturn]] void fail_unexpected(const char *expected) const;
  bool accept(const char *punctuation);
  bool accept_word(const char *word);
  void expect(const char *punctuation);
  void expect_word(const char *word);
  void open(const char *punctuation);
  void close(const char *punctuation);
  bool ended() const;  ///< the next token cannot continue an expression
  std::string name(const char *what);
  int integer(int least, int most, const char *what);
  Type type();

  Parsed binary(int least_precedence);
  Parsed unary();
  Parsed primary();
  Parsed negative(SrcLoc at);
  Parsed number(bool negated);
  Parsed float_word(const Token &word, bool negated);
  Parsed float_bits();
  Parsed parenthesised();
  Parsed lets();
  Parsed word();
  Parsed named(const Token &token);
  Parsed variable(const Token &token, const std::string &param, bool is_param);
  Parsed load(const Token &token, const std::string &param, bool is_param);
  Parsed call(const Token &token);
  Parsed builtin(const Token &token, bool *known);
  Parsed image(const Token &token, const std::string &param);
  Parsed func(const Token &token);
  Parsed external(bool pure);
  Parsed shuffle(SrcLoc at);
  Parsed ramp(SrcLoc at);
  Parsed reduce(ReduceOp op, SrcLoc at);
  Parsed combine(const Token &op, Parsed a, Parsed b);
  void agree(Parsed &a, Parsed &b, const std::string &op, SrcLoc at) const;
  std::vector<Expr> arguments(int *depth);
  Parsed finish(Expr e, int depth, SrcLoc at) const;
  Parsed checked(Expr e, int depth,
                 SrcLoc at) const;  ///< finish, after verify's checks of the node
  Type suffix_or(Type implied);
  Type storage_type(const std::string &name, int element) const;
  ParameterRef parameter(const std::string &name, Type t, bool is_buffer, SrcLoc at);
  void adapt(Parsed &p, Type t) const;
  void arity(const std::vector<Expr> &args, size_t n, const Token &token) const;
};

/// Where the origin has no file, messages quote the text under the name "<text>".
SrcLoc named_origin(SrcLoc origin);

}  // namespace calotype::ir
