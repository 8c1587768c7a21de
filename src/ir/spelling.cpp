// Words of the text form (see spelling.h).
#include "spelling.h"

#include <cstring>
#include <unordered_set>

namespace calotype::ir {

namespace {

const char *const kForTypes[] = {"for",       "parallel",   "vectorized", "unrolled",
                                 "gpu_block", "gpu_thread", "gpu_lane",   "concurrent"};
const char *const kMemoryTypes[] = {"auto",         "heap",       "stack",
                                    "register",     "gpu_shared", "gpu_texture",
                                    "locked_cache", "vtcm",       "amx_tile"};
const char *const kReduceOps[] = {"reduce_add", "reduce_mul", "reduce_min",           "reduce_max",
                                  "reduce_and", "reduce_or",  "reduce_saturating_add"};

template <typename T, size_t N>
bool read_word(const char *const (&words)[N], const std::string &word, T *out) {
  for (size_t i = 0; i < N; i++) {
    if (word == words[i]) {
      *out = static_cast<T>(i);
      return true;
    }
  }
  return false;
}

bool is_keyword(const std::string &word) {
  static const auto *words = new std::unordered_set<std::string>{
      "true",       "false",    "nan",      "inf",         "undefined",  "let",       "in",
      "if",         "else",     "extern",   "pure_extern", "assert",     "produce",   "consume",
      "atomic",     "combine",  "for",      "parallel",    "vectorized", "unrolled",  "gpu_block",
      "gpu_thread", "gpu_lane", "allocate", "realize",     "float_bits", "concurrent"};
  return words->count(word) > 0;
}

bool is_function_word(const std::string &word) {
  static const auto *words =
      new std::unordered_set<std::string>{"min", "max", "select", "ramp", "shuffle", "reinterpret"};
  ReduceOp op;
  return words->count(word) > 0 || read_broadcast_word(word) > 0 || read_reduce_op(word, &op) ||
         intrinsic_by_name(word) != Intrinsic::None;
}

}  // namespace

bool is_reserved(const std::string &word, NameUse use) {
  if (is_keyword(word) || parse_type(word).bits() > 0) return true;
  return use == NameUse::Call && is_function_word(word);
}

std::string quote_name(const std::string &name, NameUse use) {
  bool plain = !name.empty() && starts_identifier(name[0]) && name.back() != '.';
  for (char c : name) plain &= continues_identifier(c);
  if (plain && !is_reserved(name, use)) return name;
  static const char digits[] = "0123456789abcdef";
  std::string s = "`";
  for (char c : name) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '`' || c == '\\') {
      s += '\\', s += c;
    } else if (u < 0x20) {
      s += "\\x", s += digits[u >> 4], s += digits[u & 15];
    } else {
      s += c;
    }
  }
  return s + "`";
}

const char *for_type_word(ForType t) { return kForTypes[static_cast<int>(t)]; }
bool read_for_type(const std::string &word, ForType *t) { return read_word(kForTypes, word, t); }
const char *memory_type_word(MemoryType t) { return kMemoryTypes[static_cast<int>(t)]; }
bool read_memory_type(const std::string &word, MemoryType *t) {
  return read_word(kMemoryTypes, word, t);
}
const char *reduce_op_word(ReduceOp op) { return kReduceOps[static_cast<int>(op)]; }
bool read_reduce_op(const std::string &word, ReduceOp *op) {
  return read_word(kReduceOps, word, op);
}

int read_broadcast_word(const std::string &word) {
  if (word.size() < 2 || word.size() > 6 || word[0] != 'x' || word[1] == '0') return 0;
  int n = 0;
  for (size_t i = 1; i < word.size(); i++) {
    if (word[i] < '0' || word[i] > '9') return 0;
    n = n * 10 + (word[i] - '0');
  }
  return n <= 65535 ? n : 0;
}

Type implied_type(Intrinsic op, const std::vector<Expr> &args) {
  const Type first = args.empty() ? Int(32) : args[0].type();
  switch (op) {
    case Intrinsic::abs:
    case Intrinsic::absd: return first.is_int() ? first.with_code(Type::UInt) : first;
    case Intrinsic::widening_add:
    case Intrinsic::widening_mul:
    case Intrinsic::widening_shift_left:
    case Intrinsic::widening_shift_right: return first.bits() <= 32 ? first.widen() : first;
    case Intrinsic::widening_sub:
      return first.bits() > 32 ? first
             : first.is_uint() ? first.widen().with_code(Type::Int)
                               : first.widen();
    case Intrinsic::is_nan:
    case Intrinsic::is_inf:
    case Intrinsic::is_finite:
    case Intrinsic::buffer_is_bounds_query:
    case Intrinsic::if_then_else:
    case Intrinsic::require:
    case Intrinsic::print_when: return args.size() > 1 ? args[1].type() : first;
    case Intrinsic::return_second: return args.empty() ? first : args.back().type();
    case Intrinsic::buffer_host: return Handle();
    case Intrinsic::buffer_min:
    case Intrinsic::buffer_extent:
    case Intrinsic::buffer_stride:
    case Intrinsic::buffer_type_code:
    case Intrinsic::buffer_dimensions:
    case Intrinsic::buffer_set_bounds:
    case Intrinsic::buffer_set_type:
    case Intrinsic::error: return Int(32);
    default: return first;
  }
}

}  // namespace calotype::ir
