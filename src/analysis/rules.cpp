// The rule matcher: parses pattern text once, indexes rules by the kind of their root, binds and rebuilds.
#include "rules.h"

#include <cctype>
#include <map>

#include "../base/diagnostic.h"
#include "../ir/equal.h"
#include "int_math.h"

namespace calotype::analysis {

using namespace ir;

namespace {

// --- Parsing: precedence climbing over the handful of operators ----------------------------------------------------

struct Operator {
  const char *text;
  int level;
  NodeKind kind;
};
// Longer operators first where one begins another.
const Operator kOperators[] = {
    {"||", 1, NodeKind::Or}, {"&&", 2, NodeKind::And}, {"==", 3, NodeKind::EQ},
    {"!=", 3, NodeKind::NE}, {"<=", 4, NodeKind::LE},  {">=", 4, NodeKind::GE},
    {"<", 4, NodeKind::LT},  {">", 4, NodeKind::GT},   {"+", 5, NodeKind::Add},
    {"-", 5, NodeKind::Sub}, {"*", 6, NodeKind::Mul},  {"/", 6, NodeKind::Div},
    {"%", 6, NodeKind::Mod}};

class PatternParser {
public:
  explicit PatternParser(const std::string &text) : text_(text) {}
  Pattern parse() {
    Pattern p = binary(1);
    skip();
    CALO_ASSERT(at_ == text_.size(), "bad rule: " + text_);
    return p;
  }

private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(const std::string &s) {
    skip();
    if (text_.compare(at_, s.size(), s) != 0) return false;
    at_ += s.size();
    return true;
  }
  static Pattern node(NodeKind k, std::vector<Pattern> args) {
    Pattern p;
    p.kind = Pattern::Kind::Node;
    p.node = k;
    p.args = std::move(args);
    return p;
  }
  Pattern binary(int level) {
    Pattern left = unary();
    for (;;) {
      const Operator *found = nullptr;
      size_t start = at_;
      for (const Operator &o : kOperators) {
        if (!found && take(o.text)) found = &o;
      }
      if (!found || found->level < level) {
        at_ = start;
        return left;
      }
      left = node(found->kind, {left, binary(found->level + 1)});
    }
  }
  Pattern unary() {
    if (take("!")) return node(NodeKind::Not, {unary()});
    if (take("(")) {
      Pattern p = binary(1);
      CALO_ASSERT(take(")"), "bad rule: " + text_);
      return p;
    }
    skip();
    Pattern p;
    bool minus = take("-");
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      p.kind = Pattern::Kind::Literal;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        p.value = p.value * 10 + (text_[at_++] - '0');
      }
      if (minus) p.value = -p.value;
      return p;
    }
    CALO_ASSERT(!minus, "bad rule: " + text_);
    return word();
  }
  Pattern word() {
    std::string w;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])))
      w += text_[at_++];
    static const std::map<std::string, NodeKind> kCalls = {{"min", NodeKind::Min},
                                                           {"max", NodeKind::Max},
                                                           {"select", NodeKind::Select},
                                                           {"ramp", NodeKind::Ramp},
                                                           {"broadcast", NodeKind::Broadcast}};
    Pattern p;
    auto call = kCalls.find(w);
    if (call != kCalls.end()) {
      CALO_ASSERT(take("("), "bad rule: " + text_);
      std::vector<Pattern> args;
      do args.push_back(binary(1));
      while (take(","));
      CALO_ASSERT(take(")"), "bad rule: " + text_);
      return node(call->second, std::move(args));
    }
    if (w == "true" || w == "false") {
      p.kind = Pattern::Kind::Literal;
      p.value = w == "true";
      p.is_bool = true;
    } else if (w == "tmin" || w == "tmax") {
      p.kind = Pattern::Kind::Limit;
      p.id = w == "tmax";
    } else if (w.size() == 2 && w[0] == 'c') {
      p.kind = Pattern::Kind::Constant;
      p.id = w[1] - '0';
    } else {
      CALO_ASSERT(w.size() == 1, "bad rule: " + text_);
      p.kind = w[0] >= 'w'   ? Pattern::Kind::Any
               : w[0] >= 'p' ? Pattern::Kind::Condition
                             : Pattern::Kind::Lanes;
      p.id = w[0] - (w[0] >= 'w' ? 'w' : w[0] >= 'p' ? 'p' : 'm');
      CALO_ASSERT(p.id >= 0 && p.id < 4, "bad rule: " + text_);
    }
    return p;
  }
  const std::string &text_;
  size_t at_ = 0;
};

// --- Matching ------------------------------------------------------------------------------------------------------

struct Bindings {
  Expr any[4], conditions[4];
  int64_t constants[4] = {};
  bool has_constant[4] = {};
  int lanes[4] = {};
  Type type;  ///< T, once known
  int lanes_of_root = 1;
};

bool constant_value(const Expr &e, int64_t *v) {
  if (const int64_t *i = as_const_int(e)) return *v = *i, true;
  if (const uint64_t *u = as_const_uint(e)) {
    if (*u > static_cast<uint64_t>(INT64_MAX)) return false;
    return *v = static_cast<int64_t>(*u), true;
  }
  return false;
}

bool bind_type(Bindings *b, Type t) {
  if (b->type.bits() == 0) b->type = t;
  return b->type.element_of() == t.element_of();
}

/// The operand expressions of a node, in field order; ramp and broadcast: without lanes.
int operands(const Expr &e, const Expr **out) {
  switch (e.kind()) {
#define BINARY_NODE(K)      \
  case NodeKind::K:         \
    out[0] = &e.as<K>()->a; \
    out[1] = &e.as<K>()->b; \
    return 2;
#include "../ir/binary_nodes.def"
#undef BINARY_NODE
    case NodeKind::Not: out[0] = &e.as<Not>()->a; return 1;
    case NodeKind::Select:
      out[0] = &e.as<Select>()->condition;
      out[1] = &e.as<Select>()->true_value;
      out[2] = &e.as<Select>()->false_value;
      return 3;
    case NodeKind::Ramp:
      out[0] = &e.as<Ramp>()->base;
      out[1] = &e.as<Ramp>()->stride;
      return 2;
    case NodeKind::Broadcast: out[0] = &e.as<Broadcast>()->value; return 1;
    default: return 0;
  }
}

bool match(const Pattern &p, const Expr &e, Bindings *b) {
  switch (p.kind) {
    case Pattern::Kind::Any: {
      if (!bind_type(b, e.type())) return false;
      Expr &slot = b->any[p.id];
      if (slot.defined()) return slot.same_as(e);
      slot = e;
      return true;
    }
    case Pattern::Kind::Condition: {
      if (!e.type().is_bool()) return false;
      Expr &slot = b->conditions[p.id];
      if (slot.defined()) return slot.same_as(e);
      slot = e;
      return true;
    }
    case Pattern::Kind::Constant: {
      int64_t v;
      if (e.type().is_bool() || !constant_value(e, &v) || !bind_type(b, e.type())) return false;
      if (b->has_constant[p.id]) return b->constants[p.id] == v;
      b->has_constant[p.id] = true;
      b->constants[p.id] = v;
      return true;
    }
    case Pattern::Kind::Literal: {
      int64_t v;
      if (e.type().is_bool() != p.is_bool || !constant_value(e, &v)) return false;
      return v == p.value && (p.is_bool || bind_type(b, e.type()));
    }
    case Pattern::Kind::Limit: {
      int64_t v;
      if (e.type().is_bool() || !constant_value(e, &v) || !bind_type(b, e.type())) return false;
      return v == (p.id ? static_cast<int64_t>(e.type().max_uint()) : e.type().min_int());
    }
    case Pattern::Kind::Lanes: return false;
    case Pattern::Kind::Node: break;
  }
  if (e.kind() != p.node) return false;
  const Expr *args[3];
  int n = operands(e, args);
  for (int i = 0; i < n; i++) {
    if (!match(p.args[static_cast<size_t>(i)], *args[i], b)) return false;
  }
  if (static_cast<int>(p.args.size()) > n) {  // ramp(x, y, n), broadcast(x, n)
    int lanes = e.as<Ramp>() ? e.as<Ramp>()->lanes : e.as<Broadcast>()->lanes;
    int &slot = b->lanes[p.args.back().id];
    if (slot != 0 && slot != lanes) return false;
    slot = lanes;
  }
  return true;
}

/// Arithmetic on constants; nothing if `p` has other leaves.
bool compute(const Pattern &p, const Bindings &b, bool wrap, int64_t *v) {
  switch (p.kind) {
    case Pattern::Kind::Constant: *v = b.constants[p.id]; return true;
    case Pattern::Kind::Literal: *v = p.value; return true;
    case Pattern::Kind::Lanes: *v = b.lanes[p.id]; return true;
    case Pattern::Kind::Limit:
      *v = p.id ? static_cast<int64_t>(b.type.max_uint()) : b.type.min_int();
      return true;
    case Pattern::Kind::Node: break;
    default: return false;
  }
  int64_t x, y = 0;
  if (!compute(p.args[0], b, wrap, &x) || (p.args.size() > 1 && !compute(p.args[1], b, wrap, &y)))
    return false;
  bool overflow = false;
  switch (p.node) {
    case NodeKind::Add: overflow = add_overflows(x, y, v); break;
    case NodeKind::Sub: overflow = __builtin_sub_overflow(x, y, v); break;
    case NodeKind::Mul: overflow = mul_overflows(x, y, v); break;
    case NodeKind::Div: *v = floor_div(x, y); break;
    case NodeKind::Mod: *v = floor_mod(x, y); break;
    case NodeKind::Min: *v = x < y ? x : y; break;
    case NodeKind::Max: *v = x > y ? x : y; break;
    case NodeKind::EQ: *v = x == y; break;
    case NodeKind::NE: *v = x != y; break;
    case NodeKind::LT: *v = x < y; break;
    case NodeKind::LE: *v = x <= y; break;
    case NodeKind::GT: *v = x > y; break;
    case NodeKind::GE: *v = x >= y; break;
    case NodeKind::And: *v = x && y; break;
    case NodeKind::Or: *v = x || y; break;
    case NodeKind::Not: *v = !x; break;
    default: return false;
  }
  if (overflow) {
    if (!wrap) return false;
    *v = p.node == NodeKind::Add   ? wrap_add(x, y)
         : p.node == NodeKind::Sub ? wrap_sub(x, y)
                                   : wrap_mul(x, y);
  }
  if (wrap && b.type.bits() > 0 && b.type.is_int_or_uint()) *v = wrap_to(b.type, *v);
  return true;
}

Expr rebuild(const Pattern &p, const Bindings &b) {
  if (p.kind == Pattern::Kind::Any) return b.any[p.id];
  if (p.kind == Pattern::Kind::Condition) return b.conditions[p.id];
  if (p.kind == Pattern::Kind::Literal && p.is_bool) return make_bool(p.value != 0);
  int64_t v;
  bool is_ramp =
      p.kind == Pattern::Kind::Node && (p.node == NodeKind::Ramp || p.node == NodeKind::Broadcast);
  if (!is_ramp && compute(p, b, true, &v)) return make_int(b.type.element_of(), v);
  std::vector<Expr> args;
  size_t n = p.args.size() - (is_ramp ? 1 : 0);
  for (size_t i = 0; i < n; i++) args.push_back(rebuild(p.args[i], b));
  switch (p.node) {
    case NodeKind::Not: return make_not(args[0]);
    case NodeKind::Select: return make_select(args[0], args[1], args[2]);
    case NodeKind::Ramp:
    case NodeKind::Broadcast: {
      int64_t lanes = 0;
      CALO_ASSERT(compute(p.args.back(), b, false, &lanes));
      if (p.node == NodeKind::Broadcast) return make_broadcast(args[0], static_cast<int>(lanes));
      return make_ramp(args[0], args[1], static_cast<int>(lanes));
    }
    case NodeKind::And:
    case NodeKind::Or:
    default: return make_binary(p.node, args[0], args[1]);
  }
}

}  // namespace

Pattern parse_pattern(const std::string &text) { return PatternParser(text).parse(); }

bool rule_is_for(RuleTypes types, Type t) {
  switch (types) {
    case RuleTypes::Index: return is_index(t);
    case RuleTypes::Unsigned: return t.is_uint() && t.bits() > 1;
    case RuleTypes::Integer: return t.is_int_or_uint() && t.bits() > 1;
    case RuleTypes::Bool: return true;
    case RuleTypes::Any: return true;
  }
  return false;
}

const std::vector<CompiledRule> &all_rules() {
  static const std::vector<CompiledRule> *rules = [] {
    auto *all = new std::vector<CompiledRule>();
    for (auto *table : {&kArithRules, &kLogicRules, &kVectorRules}) {
      for (const Rule &r : *table) {
        CompiledRule c;
        c.rule = &r;
        c.from = parse_pattern(r.from);
        c.to = parse_pattern(r.to);
        c.has_when = r.when[0] != 0;
        if (c.has_when) c.when = parse_pattern(r.when);
        all->push_back(std::move(c));
      }
    }
    return all;
  }();
  return *rules;
}

Expr apply_rule(const CompiledRule &rule, const Expr &e) {
  Bindings b;
  if (!match(rule.from, e, &b)) return {};
  if (b.type.bits() > 0 && !rule_is_for(rule.rule->types, b.type)) return {};
  int64_t holds;
  if (rule.has_when && !(compute(rule.when, b, false, &holds) && holds)) return {};
  Expr r = rebuild(rule.to, b);
  int lanes = e.type().lanes();
  if (r.type().lanes() != lanes) r = make_broadcast(r, lanes / r.type().lanes());
  return r;
}

Expr apply_first_rule(const Expr &e, const Rule **used) {
  static const std::vector<std::vector<const CompiledRule *>> *by_root = [] {
    auto *index = new std::vector<std::vector<const CompiledRule *>>(256);
    for (const CompiledRule &r : all_rules())
      (*index)[static_cast<size_t>(r.from.node)].push_back(&r);
    return index;
  }();
  for (const CompiledRule *rule : (*by_root)[static_cast<size_t>(e.kind())]) {
    Expr r = apply_rule(*rule, e);
    if (!r.defined()) continue;
    if (used) *used = rule->rule;
    return r;
  }
  return {};
}

}  // namespace calotype::analysis
