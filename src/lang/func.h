// Func: an image that is computed; FuncRef: f(x, y); Stage: one definition, as directives see it.
//
// f(x, y) = e is the pure definition; later ones are updates. Each directive appends a record to the
// Func's list with the caller's position (schedule/directive.h); nothing is checked before a Pipeline
// is compiled. Directives documented "later" in directives.def are refused then, by name.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/target.h"
#include "../ir/enums.h"
#include "../schedule/enums.h"
#include "buffer.h"
#include "expr.h"
#include "param.h"
#include "rdom.h"
#include "tuple.h"
#include "var.h"

namespace calotype {

namespace ir {
struct FunctionBody;
}
using ir::MemoryType;

class Func;
class ImageParam;
class Stage;
class Realization;
class Pipeline;
class Module;
class Callable;
class ExternFuncArgument;
struct Argument;
struct JITUserContext;
struct JITHandlers;
struct RealizationArg;
enum StmtOutputFormat { Text, HTML };
enum class OutputFileType;
enum class NameMangling { Default, C, CPlusPlus };

/// What a memoized Func is remembered by.
struct EvictionKey {
  Expr key;
  explicit EvictionKey(const Expr &e = Expr()) : key(e) {}
};

namespace lang {

/// The values that a definition's right side may be.
enum class Update { Add, Sub, Mul, Div };

template <typename... Args>
using IfVars = typename std::enable_if<
    std::conjunction<std::is_convertible<const Args &, VarOrRVar>...>::value, int>::type;

}  // namespace lang

/// One value of a Tuple-valued Func: f(x)[1].
class CALO_EXPORT FuncTupleElementRef {
public:
  FuncTupleElementRef(const FuncRef &ref, int index);
  operator Expr() const;
  Stage operator=(const Expr &e);
  Stage operator=(const FuncRef &e);
  Stage operator+=(const Expr &e);
  Stage operator-=(const Expr &e);
  Stage operator*=(const Expr &e);
  Stage operator/=(const Expr &e);
  int index() const { return index_; }

private:
  Stage assign(const Expr &e);
  Ref<RefCounted> body_;
  std::vector<Expr> args_;
  SrcLoc loc_;
  int index_;
};

/// A Func at some coordinates: a value on the right of a definition, its target on the left.
class CALO_EXPORT FuncRef {
public:
  FuncRef(Ref<RefCounted> body, const lang::Coordinate *coords, size_t n, SrcLoc at);
  FuncRef(const FuncRef &) = default;

  /// The value. Throws L0201 if the Func is undefined, L0212 if it has several values.
  operator Expr() const;
  FuncTupleElementRef operator[](int i) const { return FuncTupleElementRef(*this, i); }
  /// Number of values.
  size_t size() const;

  Stage operator=(const Expr &e);
  Stage operator=(const Tuple &e);
  Stage operator=(const FuncRef &e);
  /// f(...) = f(...) op e. A Func without definition starts as 0 (+=, -=) or 1 (*=, /=).
  Stage operator+=(const Expr &e);
  Stage operator+=(const Tuple &e);
  Stage operator+=(const FuncRef &e);
  Stage operator-=(const Expr &e);
  Stage operator-=(const Tuple &e);
  Stage operator-=(const FuncRef &e);
  Stage operator*=(const Expr &e);
  Stage operator*=(const Tuple &e);
  Stage operator*=(const FuncRef &e);
  Stage operator/=(const Expr &e);
  Stage operator/=(const Tuple &e);
  Stage operator/=(const FuncRef &e);

  Ref<ir::FunctionBody> function() const;
  const std::vector<Expr> &args() const { return args_; }
  SrcLoc loc() const { return loc_; }

private:
  friend class FuncTupleElementRef;
  friend class Tuple;
  Stage update(lang::Update op, const std::vector<Expr> &values);
  Ref<RefCounted> body_;
  std::vector<Expr> args_;
  SrcLoc loc_;
};

/// A loop of a Func, or around everything: where another Func is computed or stored.
class CALO_EXPORT LoopLevel {
public:
  LoopLevel() = default;
  LoopLevel(const Func &f, const VarOrRVar &v, int stage = -1, SrcLoc at = SrcLoc::here());
  static LoopLevel root(SrcLoc at = SrcLoc::here());
  static LoopLevel inlined(SrcLoc at = SrcLoc::here());
  void set(const LoopLevel &o) { *this = o; }
  bool defined() const { return kind_ != Kind::None; }
  bool is_root() const { return kind_ == Kind::Root; }
  bool is_inlined() const { return kind_ == Kind::Inlined; }

private:
  friend class Stage;
  friend class Func;
  enum class Kind { None, Root, Inlined, At } kind_ = Kind::None;
  Ref<RefCounted> body_;
  std::string var_;
  int stage_ = -1;
  SrcLoc loc_;
};

/// A fused pair of reduction variables and Vars, for rfactor.
struct ReductionSplit {
  RVar r;
  Var v;
};

/// How the loops that stages share by compute_with lie on one another.
using LoopAlignments = std::vector<std::pair<VarOrRVar, LoopAlignStrategy>>;

/// One definition of a Func: the pure one or update(i). What the directives do: directives.def.
class CALO_EXPORT Stage {
public:
  Stage(Ref<RefCounted> body, int index, std::vector<Expr> under = {})
      : body_(std::move(body)), index_(index), under_(std::move(under)) {}
  std::string name() const;

  Stage &split(const VarOrRVar &old, const VarOrRVar &outer, const VarOrRVar &inner,
               const Expr &factor, TailStrategy tail = TailStrategy::Auto);
  Stage &fuse(const VarOrRVar &inner, const VarOrRVar &outer, const VarOrRVar &fused);
  Stage &serial(const VarOrRVar &v);
  Stage &parallel(const VarOrRVar &v);
  Stage &parallel(const VarOrRVar &v, const Expr &task, TailStrategy tail = TailStrategy::Auto);
  Stage &vectorize(const VarOrRVar &v);
  Stage &vectorize(const VarOrRVar &v, const Expr &lanes, TailStrategy tail = TailStrategy::Auto);
  Stage &unroll(const VarOrRVar &v);
  Stage &unroll(const VarOrRVar &v, const Expr &factor, TailStrategy tail = TailStrategy::Auto);
  Stage &tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &xo, const VarOrRVar &yo,
              const VarOrRVar &xi, const VarOrRVar &yi, const Expr &fx, const Expr &fy,
              TailStrategy tail = TailStrategy::Auto);
  /// The outer loops keep the names x and y.
  Stage &tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &xi, const VarOrRVar &yi,
              const Expr &fx, const Expr &fy, TailStrategy tail = TailStrategy::Auto);
  Stage &tile(const std::vector<VarOrRVar> &previous, const std::vector<VarOrRVar> &outers,
              const std::vector<VarOrRVar> &inners, const std::vector<Expr> &factors,
              TailStrategy tail = TailStrategy::Auto);
  Stage &reorder(const std::vector<VarOrRVar> &vars, SrcLoc at = SrcLoc::here());
  template <typename... Rest, lang::IfVars<Rest...> = 0>
  Stage &reorder(const VarOrRVar &x, const VarOrRVar &y, const Rest &...rest) {
    return reorder(std::vector<VarOrRVar>{x, y, VarOrRVar(rest, x.loc)...}, x.loc);
  }
  Stage &rename(const VarOrRVar &old, const VarOrRVar &name);
  Stage &unscheduled(SrcLoc at = SrcLoc::here());

  /// The copy of this stage, as it is now, that runs where the condition holds.
  Stage specialize(const Expr &condition, SrcLoc at = SrcLoc::here());
  void specialize_fail(const std::string &message, SrcLoc at = SrcLoc::here());
  /// A Func of partial reductions, to be scheduled: the update then reduces those.
  Func rfactor(const std::vector<std::pair<RVar, Var>> &preserved, SrcLoc at = SrcLoc::here());
  Func rfactor(const RVar &r, const Var &v, SrcLoc at = SrcLoc::here());
  /// Runs this reduction and those it uses (`members`, earlier ones first) in one pass over blocks of their domain.
  /// Gives, to be scheduled: for each member and this Func the partial reduction of a block, then for each its state.
  std::vector<Func> online(const VarOrRVar &block_loop, const std::vector<Func> &members);
  Stage &atomic(bool override_associativity_test = false, SrcLoc at = SrcLoc::here());
  Stage &allow_race_conditions(SrcLoc at = SrcLoc::here());
  Stage &compute_with(const LoopLevel &level, LoopAlignStrategy align = LoopAlignStrategy::Auto,
                      SrcLoc at = SrcLoc::here());
  Stage &compute_with(const Stage &s, const VarOrRVar &v,
                      LoopAlignStrategy align = LoopAlignStrategy::Auto);
  /// One strategy a loop; those not named are Auto.
  Stage &compute_with(const Stage &s, const VarOrRVar &v, const LoopAlignments &align);
  Stage &compute_with(const LoopLevel &level, const LoopAlignments &align,
                      SrcLoc at = SrcLoc::here());
  Stage &partition(const VarOrRVar &v, Partition p);
  Stage &never_partition_all(SrcLoc at = SrcLoc::here());
  Stage &always_partition_all(SrcLoc at = SrcLoc::here());
  Stage &never_partition(const std::vector<VarOrRVar> &vars, SrcLoc at = SrcLoc::here());
  Stage &always_partition(const std::vector<VarOrRVar> &vars, SrcLoc at = SrcLoc::here());
  template <typename... Rest, lang::IfVars<Rest...> = 0>
  Stage &never_partition(const VarOrRVar &x, const Rest &...rest) {
    return never_partition(std::vector<VarOrRVar>{x, VarOrRVar(rest, x.loc)...}, x.loc);
  }
  template <typename... Rest, lang::IfVars<Rest...> = 0>
  Stage &always_partition(const VarOrRVar &x, const Rest &...rest) {
    return always_partition(std::vector<VarOrRVar>{x, VarOrRVar(rest, x.loc)...}, x.loc);
  }
  Stage &prefetch(const Func &f, const VarOrRVar &at, const VarOrRVar &from, const Expr &offset,
                  PrefetchBoundStrategy s = PrefetchBoundStrategy::GuardWithIf);
  Stage &prefetch(const ImageParam &image, const VarOrRVar &at, const VarOrRVar &from,
                  const Expr &offset, PrefetchBoundStrategy s = PrefetchBoundStrategy::GuardWithIf);
  Stage &hexagon(const VarOrRVar &x);

  Stage &gpu_threads(const std::vector<VarOrRVar> &vars, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_threads(const VarOrRVar &x, DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_threads(std::vector<VarOrRVar>{x}, api);
  }
  Stage &gpu_threads(const VarOrRVar &x, const VarOrRVar &y,
                     DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_threads(std::vector<VarOrRVar>{x, y}, api);
  }
  Stage &gpu_threads(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z,
                     DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_threads(std::vector<VarOrRVar>{x, y, z}, api);
  }
  Stage &gpu_blocks(const std::vector<VarOrRVar> &vars, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_blocks(const VarOrRVar &x, DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_blocks(std::vector<VarOrRVar>{x}, api);
  }
  Stage &gpu_blocks(const VarOrRVar &x, const VarOrRVar &y,
                    DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_blocks(std::vector<VarOrRVar>{x, y}, api);
  }
  Stage &gpu_blocks(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z,
                    DeviceAPI api = DeviceAPI::Default_GPU) {
    return gpu_blocks(std::vector<VarOrRVar>{x, y, z}, api);
  }
  Stage &gpu_lanes(const VarOrRVar &x, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_single_thread(DeviceAPI api = DeviceAPI::Default_GPU, SrcLoc at = SrcLoc::here());
  Stage &gpu(const VarOrRVar &bx, const VarOrRVar &tx, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu(const VarOrRVar &bx, const VarOrRVar &by, const VarOrRVar &tx, const VarOrRVar &ty,
             DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu(const VarOrRVar &bx, const VarOrRVar &by, const VarOrRVar &bz, const VarOrRVar &tx,
             const VarOrRVar &ty, const VarOrRVar &tz, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &bx, const VarOrRVar &tx, const Expr &fx,
                  TailStrategy tail = TailStrategy::Auto, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &tx, const Expr &fx,
                  TailStrategy tail = TailStrategy::Auto, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &bx, const VarOrRVar &by,
                  const VarOrRVar &tx, const VarOrRVar &ty, const Expr &fx, const Expr &fy,
                  TailStrategy tail = TailStrategy::Auto, DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &tx, const VarOrRVar &ty,
                  const Expr &fx, const Expr &fy, TailStrategy tail = TailStrategy::Auto,
                  DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z, const VarOrRVar &tx,
                  const VarOrRVar &ty, const VarOrRVar &tz, const Expr &fx, const Expr &fy,
                  const Expr &fz, TailStrategy tail = TailStrategy::Auto,
                  DeviceAPI api = DeviceAPI::Default_GPU);
  Stage &gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z, const VarOrRVar &bx,
                  const VarOrRVar &by, const VarOrRVar &bz, const VarOrRVar &tx,
                  const VarOrRVar &ty, const VarOrRVar &tz, const Expr &fx, const Expr &fy,
                  const Expr &fz, TailStrategy tail = TailStrategy::Auto,
                  DeviceAPI api = DeviceAPI::Default_GPU);

  const Ref<RefCounted> &body() const { return body_; }
  int index() const { return index_; }

private:
  friend class Func;
  struct Record;
  void record(Record &&r);
  Ref<RefCounted> body_;
  int index_;
  std::vector<Expr> under_;  ///< conditions of the specialization that this is, outermost first
};

CALO_EXPORT std::ostream &operator<<(std::ostream &o, MemoryType m);
CALO_EXPORT std::ostream &operator<<(std::ostream &o, TailStrategy t);

/// A function from integer points to values. Copies share the definition.
class CALO_EXPORT Func {
public:
  Func(SrcLoc at = SrcLoc::here()) : Func(std::string(), at) {}
  explicit Func(const std::string &name, SrcLoc at = SrcLoc::here());
  explicit Func(const char *name, SrcLoc at = SrcLoc::here()) : Func(std::string(name), at) {}
  /// Declares types and rank that the definition must have (L0213).
  explicit Func(Type required_type, int required_dimensions, const std::string &name,
                SrcLoc at = SrcLoc::here());
  explicit Func(const std::vector<Type> &required_types, int required_dimensions,
                const std::string &name, SrcLoc at = SrcLoc::here());
  /// A Func of the variables `_` that e contains.
  explicit Func(const Expr &e, SrcLoc at = SrcLoc::here());
  explicit Func(Ref<ir::FunctionBody> body);
  template <typename T, int D>
  explicit Func(const Buffer<T, D> &b, SrcLoc at = SrcLoc::here())
      : Func(b.defined() ? b(std::vector<Expr>{Expr(_)}, at) : Expr(), at) {}

  template <typename... Rest>
  FuncRef operator()(const lang::Coordinate &first, const Rest &...rest) const {
    const lang::Coordinate all[] = {first, lang::Coordinate(rest, first.loc)...};
    return FuncRef(body_, all, 1 + sizeof...(rest), first.loc);
  }
  FuncRef operator()(SrcLoc at = SrcLoc::here()) const { return FuncRef(body_, nullptr, 0, at); }
  FuncRef operator()(const std::vector<Var> &coords, SrcLoc at = SrcLoc::here()) const;
  FuncRef operator()(const std::vector<Expr> &coords, SrcLoc at = SrcLoc::here()) const;

  // ---- what it is -------------------------------------------------------------------------------
  std::string name() const;
  std::vector<Var> args() const;
  int dimensions() const;
  bool defined() const;
  Type type() const;
  const std::vector<Type> &types() const;
  const std::vector<Type> &output_types() const { return types(); }
  int outputs() const;
  Expr value() const;
  Tuple values() const;
  std::vector<Expr> update_args(int i = 0) const;
  Expr update_value(int i = 0) const;
  Tuple update_values(int i = 0) const;
  std::vector<RVar> rvars(int i = 0) const;
  bool has_update_definition() const { return num_update_definitions() > 0; }
  int num_update_definitions() const;
  /// Whether define_extern defined it.
  bool is_extern() const;
  bool same_as(const Func &o) const { return body_.same_as(o.body_); }
  Ref<ir::FunctionBody> function() const;
  /// The i-th update definition; throws L0203 if there is none.
  Stage update(int i = 0, SrcLoc at = SrcLoc::here());
  operator Stage() const { return Stage(body_, 0); }
  OutputImageParam output_buffer(SrcLoc at = SrcLoc::here()) const;
  std::vector<OutputImageParam> output_buffers(SrcLoc at = SrcLoc::here()) const;

  // ---- directives of the pure definition: as Stage's ---------------------------------------------
  Func &split(const VarOrRVar &old, const VarOrRVar &outer, const VarOrRVar &inner,
              const Expr &factor, TailStrategy tail = TailStrategy::Auto) {
    return stage([&](Stage &s) { s.split(old, outer, inner, factor, tail); });
  }
  Func &fuse(const VarOrRVar &inner, const VarOrRVar &outer, const VarOrRVar &fused) {
    return stage([&](Stage &s) { s.fuse(inner, outer, fused); });
  }
  Func &serial(const VarOrRVar &v) {
    return stage([&](Stage &s) { s.serial(v); });
  }
  Func &parallel(const VarOrRVar &v) {
    return stage([&](Stage &s) { s.parallel(v); });
  }
  Func &parallel(const VarOrRVar &v, const Expr &task, TailStrategy tail = TailStrategy::Auto) {
    return stage([&](Stage &s) { s.parallel(v, task, tail); });
  }
  Func &vectorize(const VarOrRVar &v) {
    return stage([&](Stage &s) { s.vectorize(v); });
  }
  Func &vectorize(const VarOrRVar &v, const Expr &lanes, TailStrategy tail = TailStrategy::Auto) {
    return stage([&](Stage &s) { s.vectorize(v, lanes, tail); });
  }
  Func &unroll(const VarOrRVar &v) {
    return stage([&](Stage &s) { s.unroll(v); });
  }
  Func &unroll(const VarOrRVar &v, const Expr &factor, TailStrategy tail = TailStrategy::Auto) {
    return stage([&](Stage &s) { s.unroll(v, factor, tail); });
  }
  template <typename... Args>
  Func &tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &a, const VarOrRVar &b,
             const Args &...more) {
    return stage([&](Stage &s) { s.tile(x, y, a, b, more...); });
  }
  Func &tile(const std::vector<VarOrRVar> &previous, const std::vector<VarOrRVar> &outers,
             const std::vector<VarOrRVar> &inners, const std::vector<Expr> &factors,
             TailStrategy tail = TailStrategy::Auto) {
    return stage([&](Stage &s) { s.tile(previous, outers, inners, factors, tail); });
  }
  Func &reorder(const std::vector<VarOrRVar> &vars, SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.reorder(vars, at); });
  }
  template <typename... Rest, lang::IfVars<Rest...> = 0>
  Func &reorder(const VarOrRVar &x, const VarOrRVar &y, const Rest &...rest) {
    return stage([&](Stage &s) { s.reorder(x, y, rest...); });
  }
  Func &rename(const VarOrRVar &old, const VarOrRVar &name) {
    return stage([&](Stage &s) { s.rename(old, name); });
  }
  Stage specialize(const Expr &condition, SrcLoc at = SrcLoc::here()) {
    return Stage(*this).specialize(condition, at);
  }
  void specialize_fail(const std::string &message, SrcLoc at = SrcLoc::here()) {
    Stage(*this).specialize_fail(message, at);
  }
  Func &atomic(bool override_associativity_test = false, SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.atomic(override_associativity_test, at); });
  }
  Func &allow_race_conditions(SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.allow_race_conditions(at); });
  }
  Func &compute_with(const LoopLevel &level, LoopAlignStrategy align = LoopAlignStrategy::Auto,
                     SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.compute_with(level, align, at); });
  }
  Func &compute_with(const Stage &other, const VarOrRVar &v,
                     LoopAlignStrategy align = LoopAlignStrategy::Auto) {
    return stage([&](Stage &s) { s.compute_with(other, v, align); });
  }
  Func &compute_with(const Stage &other, const VarOrRVar &v, const LoopAlignments &align) {
    return stage([&](Stage &s) { s.compute_with(other, v, align); });
  }
  Func &compute_with(const LoopLevel &level, const LoopAlignments &align,
                     SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.compute_with(level, align, at); });
  }
  Func &partition(const VarOrRVar &v, Partition p) {
    return stage([&](Stage &s) { s.partition(v, p); });
  }
  Func &never_partition_all(SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.never_partition_all(at); });
  }
  Func &always_partition_all(SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.always_partition_all(at); });
  }
  template <typename... Args> Func &never_partition(const VarOrRVar &x, const Args &...rest) {
    return stage([&](Stage &s) { s.never_partition(x, rest...); });
  }
  template <typename... Args> Func &always_partition(const VarOrRVar &x, const Args &...rest) {
    return stage([&](Stage &s) { s.always_partition(x, rest...); });
  }
  Func &prefetch(const Func &f, const VarOrRVar &at, const VarOrRVar &from, const Expr &offset,
                 PrefetchBoundStrategy strategy = PrefetchBoundStrategy::GuardWithIf) {
    return stage([&](Stage &s) { s.prefetch(f, at, from, offset, strategy); });
  }
  Func &prefetch(const ImageParam &image, const VarOrRVar &at, const VarOrRVar &from,
                 const Expr &offset,
                 PrefetchBoundStrategy strategy = PrefetchBoundStrategy::GuardWithIf) {
    return stage([&](Stage &s) { s.prefetch(image, at, from, offset, strategy); });
  }
  Func &hexagon(const VarOrRVar &x = Var::outermost()) {
    return stage([&](Stage &s) { s.hexagon(x); });
  }
  template <typename... Args> Func &gpu_threads(const VarOrRVar &x, const Args &...more) {
    return stage([&](Stage &s) { s.gpu_threads(x, more...); });
  }
  template <typename... Args> Func &gpu_blocks(const VarOrRVar &x, const Args &...more) {
    return stage([&](Stage &s) { s.gpu_blocks(x, more...); });
  }
  Func &gpu_lanes(const VarOrRVar &x, DeviceAPI api = DeviceAPI::Default_GPU) {
    return stage([&](Stage &s) { s.gpu_lanes(x, api); });
  }
  Func &gpu_single_thread(DeviceAPI api = DeviceAPI::Default_GPU, SrcLoc at = SrcLoc::here()) {
    return stage([&](Stage &s) { s.gpu_single_thread(api, at); });
  }
  template <typename... Args> Func &gpu(const VarOrRVar &x, const Args &...more) {
    return stage([&](Stage &s) { s.gpu(x, more...); });
  }
  template <typename... Args> Func &gpu_tile(const VarOrRVar &x, const Args &...more) {
    return stage([&](Stage &s) { s.gpu_tile(x, more...); });
  }

  // ---- directives of the whole Func --------------------------------------------------------------
  Func &compute_root(SrcLoc at = SrcLoc::here());
  Func &compute_inline(SrcLoc at = SrcLoc::here());
  Func &compute_at(const Func &consumer, const VarOrRVar &v);
  Func &compute_at(const LoopLevel &level, SrcLoc at = SrcLoc::here());
  Func &store_root(SrcLoc at = SrcLoc::here());
  Func &store_at(const Func &consumer, const VarOrRVar &v);
  Func &store_at(const LoopLevel &level, SrcLoc at = SrcLoc::here());
  Func &hoist_storage_root(SrcLoc at = SrcLoc::here());
  Func &hoist_storage(const Func &consumer, const VarOrRVar &v);
  Func &hoist_storage(const LoopLevel &level, SrcLoc at = SrcLoc::here());
  Func &bound(const Var &v, const Expr &min, const Expr &extent, SrcLoc at = SrcLoc::here());
  Func &bound_extent(const Var &v, const Expr &extent, SrcLoc at = SrcLoc::here());
  Func &align_bounds(const Var &v, const Expr &modulus, const Expr &remainder = Expr(),
                     SrcLoc at = SrcLoc::here());
  Func &align_extent(const Var &v, const Expr &modulus, SrcLoc at = SrcLoc::here());
  Func &bound_storage(const Var &v, const Expr &bound, SrcLoc at = SrcLoc::here());
  Func &align_storage(const Var &v, const Expr &alignment, SrcLoc at = SrcLoc::here());
  Func &fold_storage(const Var &v, const Expr &factor, bool fold_forward = true,
                     SrcLoc at = SrcLoc::here());
  Func &reorder_storage(const std::vector<Var> &vars, SrcLoc at = SrcLoc::here());
  template <typename... Rest>
  Func &reorder_storage(const VarOrRVar &x, const Var &y, const Rest &...rest) {
    return storage_order({x, y, VarOrRVar(rest, x.loc)...}, x.loc);
  }
  Func &store_in(MemoryType m, SrcLoc at = SrcLoc::here());
  Func &async(SrcLoc at = SrcLoc::here());
  Func &ring_buffer(const Expr &extent, SrcLoc at = SrcLoc::here());
  Func &memoize(const EvictionKey &key = EvictionKey(), SrcLoc at = SrcLoc::here());
  Func &trace_loads(SrcLoc at = SrcLoc::here());
  Func &trace_stores(SrcLoc at = SrcLoc::here());
  Func &trace_realizations(SrcLoc at = SrcLoc::here());
  Func &add_trace_tag(const std::string &tag, SrcLoc at = SrcLoc::here());
  Func &no_profiling(SrcLoc at = SrcLoc::here());
  /// Estimates of the region asked for; no directive.
  Func &set_estimate(const Var &v, const Expr &min, const Expr &extent, SrcLoc at = SrcLoc::here());
  Func &set_estimates(const Region &estimates, SrcLoc at = SrcLoc::here());

  // ---- extern stages: extern.h --------------------------------------------------------------------
  void define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                     Type t, int dimensions, NameMangling m = NameMangling::Default,
                     DeviceAPI api = DeviceAPI::Host, SrcLoc at = SrcLoc::here());
  void define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                     Type t, const std::vector<Var> &vars, NameMangling m = NameMangling::Default,
                     DeviceAPI api = DeviceAPI::Host, SrcLoc at = SrcLoc::here());
  void define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                     const std::vector<Type> &types, int dimensions,
                     NameMangling m = NameMangling::Default, DeviceAPI api = DeviceAPI::Host,
                     SrcLoc at = SrcLoc::here());
  void define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                     const std::vector<Type> &types, const std::vector<Var> &vars,
                     NameMangling m = NameMangling::Default, DeviceAPI api = DeviceAPI::Host,
                     SrcLoc at = SrcLoc::here());

  // ---- Funcs that directives make: handles to be scheduled, not to be used in definitions ----------
  /// Holds this Func's values for these readers, or for all that have nothing of their own. Asked again: the same.
  Func in(const Func &consumer, SrcLoc at = SrcLoc::here());
  Func in(const std::vector<Func> &consumers, SrcLoc at = SrcLoc::here());
  Func in(SrcLoc at = SrcLoc::here());
  /// A copy of this Func for these readers, with the directives it had so far.
  Func clone_in(const Func &consumer, SrcLoc at = SrcLoc::here());
  Func clone_in(const std::vector<Func> &consumers, SrcLoc at = SrcLoc::here());

  // ---- refused by L0901 --------------------------------------------------------------------------
  Func copy_to_device(DeviceAPI api = DeviceAPI::Default_GPU, SrcLoc at = SrcLoc::here());
  Func copy_to_host(SrcLoc at = SrcLoc::here());
  template <typename P> void add_custom_lowering_pass(P *pass) {
    delete pass;
    refuse("add_custom_lowering_pass", std::string());
  }
  void debug_to_file(const std::string &filename, SrcLoc at = SrcLoc::here());

  // ---- running and compiling: driver/pipeline.cpp ------------------------------------------------
  /// Computes the region [0, sizes) into new buffers. Compiles once for as long as nothing changes.
  Realization realize(const std::vector<int32_t> &sizes = {}, const Target &t = Target());
  Realization realize(JITUserContext *context, const std::vector<int32_t> &sizes = {},
                      const Target &t = Target());
  /// Computes into the caller's buffers, whose bounds say what region.
  void realize(RealizationArg out, const Target &t = Target());
  void realize(JITUserContext *context, RealizationArg out, const Target &t = Target());
  /// Binds every unbound ImageParam to a new buffer just large enough.
  void infer_input_bounds(const std::vector<int32_t> &sizes, const Target &t = Target());
  void infer_input_bounds(RealizationArg out, const Target &t = Target());
  void compile_jit(const Target &t = Target());
  std::vector<Argument> infer_arguments() const;
  JITHandlers &jit_handlers();
  void print_loop_nest();
  void compile_to_lowered_stmt(const std::string &file, const std::vector<Argument> &args,
                               StmtOutputFormat format = Text, const Target &t = Target());
  void compile_to_llvm_assembly(const std::string &file, const std::vector<Argument> &args,
                                const std::string &function = {}, const Target &t = Target());
  void compile_to_assembly(const std::string &file, const std::vector<Argument> &args,
                           const std::string &function = {}, const Target &t = Target());
  void compile_to_object(const std::string &file, const std::vector<Argument> &args,
                         const std::string &function = {}, const Target &t = Target());
  Module compile_to_module(const std::vector<Argument> &args, const std::string &function = {},
                           const Target &t = Target());
  Callable compile_to_callable(const std::vector<Argument> &args, const Target &t = Target());
  void compile_to(const std::vector<std::pair<OutputFileType, std::string>> &files,
                  const std::vector<Argument> &args, const std::string &function,
                  const Target &t = Target());
  template <typename Map, typename = typename Map::mapped_type>
  void compile_to(const Map &files, const std::vector<Argument> &args, const std::string &function,
                  const Target &t = Target()) {
    compile_to(std::vector<std::pair<OutputFileType, std::string>>(files.begin(), files.end()),
               args, function, t);
  }
  void compile_to_file(const std::string &prefix, const std::vector<Argument> &args,
                       const std::string &function = {}, const Target &t = Target());
  void compile_to_static_library(const std::string &prefix, const std::vector<Argument> &args,
                                 const std::string &function = {}, const Target &t = Target());
  /// The function that NAME's processor can run is chosen at run time; targets stand best first.
  void compile_to_multitarget_static_library(const std::string &prefix,
                                             const std::vector<Argument> &args,
                                             const std::vector<Target> &targets);
  void compile_to_multitarget_object_files(const std::string &prefix,
                                           const std::vector<Argument> &args,
                                           const std::vector<Target> &targets,
                                           const std::vector<std::string> &suffixes);
  void compile_to_header(const std::string &file, const std::vector<Argument> &args,
                         const std::string &function = {}, const Target &t = Target());
  void compile_to_c(const std::string &file, const std::vector<Argument> &args,
                    const std::string &function = {}, const Target &t = Target());
  void compile_to_bitcode(const std::string &file, const std::vector<Argument> &args,
                          const std::string &function = {}, const Target &t = Target());
  Pipeline pipeline() const;

private:
  friend class Stage;
  template <typename F> Func &stage(F &&f) {
    Stage s(body_, 0);
    f(s);
    return *this;
  }
  Func &storage_order(const std::vector<VarOrRVar> &vars, SrcLoc at);
  [[noreturn]] void refuse(const char *what, const std::string &detail) const;
  Ref<RefCounted> body_;
};

}  // namespace calotype
