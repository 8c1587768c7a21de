// Structural comparison and hashing, generated from nodes.def.
#include "equal.h"

#include <cstring>
#include <unordered_map>

namespace calotype::ir {

namespace {

// Three-way comparison of fields. Shared subtrees that compare equal are pairs of identical pointers most of the time.
struct Compare {
  int result = 0;

  template <typename T> void scalar(const T &a, const T &b) {
    if (result == 0 && !(a == b)) result = a < b ? -1 : 1;
  }
  void operator()(const Expr &a, const Expr &b) {
    if (result != 0 || a.same_as(b)) return;
    if (!a.defined() || !b.defined()) return scalar(a.defined(), b.defined());
    scalar(static_cast<int>(a.kind()), static_cast<int>(b.kind()));
    scalar(a.type(), b.type());
    if (result == 0) nodes(a, b);
  }
  void operator()(const Stmt &a, const Stmt &b) {
    if (result != 0 || a.same_as(b)) return;
    if (!a.defined() || !b.defined()) return scalar(a.defined(), b.defined());
    scalar(static_cast<int>(a.kind()), static_cast<int>(b.kind()));
    if (result == 0) nodes(a, b);
  }
  void operator()(double a, double b) {
    uint64_t x, y;
    std::memcpy(&x, &a, 8);
    std::memcpy(&y, &b, 8);
    scalar(x, y);
  }
  void operator()(const Range &a, const Range &b) {
    (*this)(a.min, b.min);
    (*this)(a.extent, b.extent);
  }
  template <typename T> void operator()(const std::vector<T> &a, const std::vector<T> &b) {
    scalar(a.size(), b.size());
    for (size_t i = 0; result == 0 && i < a.size(); i++) (*this)(a[i], b[i]);
  }
  void operator()(const Ref<const Parameter> &a, const Ref<const Parameter> &b) {
    scalar(a.defined(), b.defined());
    if (a.defined() && b.defined() && a.get() != b.get()) scalar(a->name, b->name);
  }
  void operator()(const Ref<const FunctionBody> &a, const Ref<const FunctionBody> &b) {
    scalar(a.defined() ? a->id + 1 : 0, b.defined() ? b->id + 1 : 0);
  }
  void operator()(const Type &a, const Type &b) { scalar(a, b); }
  void operator()(Name a, Name b) { scalar(a, b); }
  void operator()(const std::string &a, const std::string &b) { scalar(a, b); }
  template <typename T> void operator()(const T &a, const T &b) {
    scalar(static_cast<int64_t>(a), static_cast<int64_t>(b));
  }

  template <typename H> void nodes(const H &x, const H &y) {
    switch (x.kind()) {
#define FIELD(T, n) (*this)(a->n, b->n);
#define EXPR(Name, fields)                                                     \
  case NodeKind::Name: {                                                       \
    auto *a = static_cast<const Name *>(static_cast<const IRNode *>(x.get())); \
    auto *b = static_cast<const Name *>(static_cast<const IRNode *>(y.get())); \
    fields break;                                                              \
  }
#define STMT(Name, fields) EXPR(Name, fields)
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    }
  }
};

struct Hasher {
  uint64_t h = 0x9e3779b97f4a7c15ull;
  std::unordered_map<const IRNode *, uint64_t> *memo;

  void mix(uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  template <typename H> uint64_t of(const H &x) {
    auto it = memo->find(x.get());
    if (it != memo->end()) return it->second;
    Hasher inner{0x51ed270b153a4d25ull, memo};
    inner.mix(static_cast<uint64_t>(x.kind()));
    inner.nodes(x);
    if (x->ref_count() > 1) memo->emplace(x.get(), inner.h);
    return inner.h;
  }
  void operator()(const Expr &e) { mix(e.defined() ? of(e) ^ type_bits(e.type()) : 0); }
  void operator()(const Stmt &s) { mix(s.defined() ? of(s) : 0); }
  static uint64_t type_bits(Type t) {
    return static_cast<uint64_t>(t.code()) << 40 | static_cast<uint64_t>(t.bits()) << 16 |
           static_cast<uint64_t>(t.lanes());
  }
  void operator()(double a) {
    uint64_t x;
    std::memcpy(&x, &a, 8);
    mix(x);
  }
  void operator()(const Range &r) {
    (*this)(r.min);
    (*this)(r.extent);
  }
  template <typename T> void operator()(const std::vector<T> &v) {
    mix(v.size());
    for (const T &x : v) (*this)(x);
  }
  void operator()(const Ref<const Parameter> &p) { mix(p ? std::hash<std::string>()(p->name) : 1); }
  void operator()(const Ref<const FunctionBody> &f) { mix(f ? f->id + 1 : 0); }
  void operator()(const Type &t) { mix(type_bits(t)); }
  void operator()(Name n) { mix(std::hash<std::string>()(n.str())); }
  void operator()(const std::string &s) { mix(std::hash<std::string>()(s)); }
  template <typename T> void operator()(const T &v) { mix(static_cast<uint64_t>(v)); }
  template <typename H> void nodes(const H &x) {
    switch (x.kind()) {
#define FIELD(T, n) (*this)(a->n);
#define EXPR(Name, fields)                                                     \
  case NodeKind::Name: {                                                       \
    auto *a = static_cast<const Name *>(static_cast<const IRNode *>(x.get())); \
    fields break;                                                              \
  }
#define STMT(Name, fields) EXPR(Name, fields)
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    }
  }
};

}  // namespace

int compare(const Expr &a, const Expr &b) {
  Compare c;
  c(a, b);
  return c.result;
}
bool equal(const Expr &a, const Expr &b) { return compare(a, b) == 0; }
bool equal(const Stmt &a, const Stmt &b) {
  Compare c;
  c(a, b);
  return c.result == 0;
}
uint64_t hash(const Expr &e) {
  std::unordered_map<const IRNode *, uint64_t> memo;
  Hasher h{1, &memo};
  h(e);
  return h.h;
}
uint64_t hash(const Stmt &s) {
  std::unordered_map<const IRNode *, uint64_t> memo;
  Hasher h{1, &memo};
  h(s);
  return h.h;
}

}  // namespace calotype::ir
