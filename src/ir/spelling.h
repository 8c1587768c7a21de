// Words of the text form of IR, shared by print.cpp and parse.cpp (internal to ir).
#pragma once

#include <string>
#include <vector>

#include "nodes.h"

namespace calotype::ir {

/// Where a name stands decides which words it must be told apart from (by backquotes).
enum class NameUse { Variable, Call };
CALO_EXPORT bool is_reserved(const std::string &word, NameUse use);
/// The name as the text form writes it: bare if it reads back as a name, else in backquotes.
CALO_EXPORT std::string quote_name(const std::string &name, NameUse use);
inline bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
inline bool continues_identifier(char c) {
  return starts_identifier(c) || (c >= '0' && c <= '9') || c == '.';
}

/// Words of enumerations. The readers return false for unknown words.
const char *for_type_word(ForType t);
bool read_for_type(const std::string &word, ForType *t);
const char *memory_type_word(MemoryType t);
bool read_memory_type(const std::string &word, MemoryType *t);
const char *reduce_op_word(ReduceOp op);  ///< "reduce_add"
bool read_reduce_op(const std::string &word, ReduceOp *op);
/// The n of "x<n>", the word for a broadcast to n lanes; 0 if `word` is none.
int read_broadcast_word(const std::string &word);

/// The type that a call of `op` has if its text does not say; most intrinsics have their first operand's.
Type implied_type(Intrinsic op, const std::vector<Expr> &args);

}  // namespace calotype::ir
