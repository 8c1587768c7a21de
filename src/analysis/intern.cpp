// Hashing and equality that look at one node and the addresses of its children, generated from nodes.def.
#include "intern.h"

#include <cstring>

#include "../ir/visit.h"

namespace calotype::analysis {

using namespace ir;

namespace {

struct Mixer {
  uint64_t h = 0;
  void mix(uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  void mix(const void *p) { mix(reinterpret_cast<uintptr_t>(p)); }
  void operator()(const Expr &e) { mix(e.get()); }
  void operator()(Name n) { mix(n.key()); }
  void operator()(const std::string &s) { mix(std::hash<std::string>()(s)); }
  void operator()(double d) {
    uint64_t bits;
    std::memcpy(&bits, &d, 8);
    mix(bits);
  }
  void operator()(const Ref<const Parameter> &p) { mix(p.get()); }
  void operator()(const Ref<const FunctionBody> &f) { mix(f.get()); }
  template <typename T> void operator()(const std::vector<T> &v) {
    mix(v.size());
    for (const T &x : v) (*this)(x);
  }
  template <typename T> void operator()(const T &v) { mix(static_cast<uint64_t>(v)); }
};

bool same(const Expr &a, const Expr &b) { return a.same_as(b); }
bool same(double a, double b) { return std::memcmp(&a, &b, 8) == 0; }
bool same(const Ref<const Parameter> &a, const Ref<const Parameter> &b) { return a.same_as(b); }
bool same(const Ref<const FunctionBody> &a, const Ref<const FunctionBody> &b) {
  return a.same_as(b);
}
template <typename T> bool same(const T &a, const T &b) { return a == b; }
bool same(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (!a[i].same_as(b[i])) return false;
  }
  return true;
}

/// Replaces the children of one node.
class ChildMutator : public IRMutator {
public:
  explicit ChildMutator(Interner *interner) : interner_(interner) {}
  Expr mutate(const Expr &e) override { return interner_->intern(e); }
  Expr children(const Expr &e) { return IRMutator::mutate(e); }
  using IRMutator::mutate;

private:
  Interner *interner_;
};

}  // namespace

size_t Interner::ShallowHash::operator()(const Expr &e) const {
  Mixer m;
  Type t = e.type();
  m.mix(static_cast<uint64_t>(e.kind()) << 48 | static_cast<uint64_t>(t.code()) << 32 |
        static_cast<uint64_t>(t.bits()) << 16 | static_cast<uint64_t>(t.lanes()));
  switch (e.kind()) {
#define FIELD(T, n) m(op->n);
#define EXPR(Name_, fields)                         \
  case NodeKind::Name_: {                           \
    auto *op = static_cast<const Name_ *>(e.get()); \
    fields break;                                   \
  }
#define STMT(Name_, fields)
#include "../ir/nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    default: break;
  }
  return m.h;
}

bool Interner::ShallowEqual::operator()(const Expr &a, const Expr &b) const {
  if (a.same_as(b)) return true;
  if (a.kind() != b.kind() || a.type() != b.type()) return false;
  switch (a.kind()) {
#define FIELD(T, n) &&same(x->n, y->n)
#define EXPR(Name_, fields)                        \
  case NodeKind::Name_: {                          \
    auto *x = static_cast<const Name_ *>(a.get()); \
    auto *y = static_cast<const Name_ *>(b.get()); \
    return x != y fields;                          \
  }
#define STMT(Name_, fields)
#include "../ir/nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    default: return false;
  }
}

Expr Interner::with_interned_children(const Expr &e) {
  switch (e.kind()) {
    case NodeKind::IntImm:
    case NodeKind::UIntImm:
    case NodeKind::FloatImm:
    case NodeKind::StringImm:
    case NodeKind::Variable: return e;
    default: return ChildMutator(this).children(e);
  }
}

Expr Interner::intern(const Expr &e) {
  if (!e.defined()) return e;
  auto it = done_.find(e.get());
  if (it != done_.end()) return it->second;
  Expr node = *nodes_.insert(with_interned_children(e)).first;
  done_.emplace(e.get(), node);
  if (!node.same_as(e)) {
    keep_.push_back(e);
    done_.emplace(node.get(), node);
  }
  return node;
}

}  // namespace calotype::analysis
