// See metadata.h.
#include "metadata.h"

#include <cstring>

#include "../ir/build.h"
#include "../runtime/HalideRuntime.h"

namespace calotype::codegen {

using Kind = lower::LoweredArgument::Kind;

namespace {

/// The bits of a constant of type `t`; nothing if `e` is none.
std::optional<uint64_t> bits_of(const Expr &e, Type t) {
  if (!e.defined()) return {};
  uint64_t bits = 0;
  if (const auto *i = e.as<ir::IntImm>()) {
    bits = static_cast<uint64_t>(i->value);
  } else if (const auto *u = e.as<ir::UIntImm>()) {
    bits = u->value;
  } else if (const auto *d = e.as<ir::FloatImm>()) {
    const auto single = static_cast<float>(d->value);
    if (t.bits() == 32) std::memcpy(&bits, &single, sizeof single);
    if (t.bits() == 64) std::memcpy(&bits, &d->value, sizeof d->value);
  } else {
    return {};
  }
  return t.bits() < 64 ? bits & ((uint64_t(1) << t.bits()) - 1) : bits;
}

std::vector<std::optional<int64_t>> estimates_of(const lower::LoweredArgument &a) {
  std::vector<std::optional<int64_t>> all(2 * static_cast<size_t>(a.dimensions));
  bool any = false;
  for (size_t d = 0; a.param && d < std::min(all.size() / 2, a.param->dims.size()); d++) {
    const ir::DimConstraint &dim = a.param->dims[d];
    for (size_t i = 0; i < 2; i++) {
      const Expr &e = i == 0 ? dim.min_estimate : dim.extent_estimate;
      const int64_t *n = e.defined() ? ir::as_const_int(e) : nullptr;
      if (n) all[2 * d + i] = *n;
      any |= n != nullptr;
    }
  }
  if (!any) all.clear();
  return all;
}

}  // namespace

std::vector<ArgumentFacts> argument_facts(const lower::LoweredFunction &f, const Target &t) {
  std::vector<ArgumentFacts> all;
  if (t.has_feature(Target::UserContext)) {
    ArgumentFacts context;
    context.name = "__user_context";
    context.kind = halide_argument_kind_input_scalar;
    context.type = halide_type_t(halide_type_handle, 64, 1).as_u32();
    all.push_back(context);
  }
  for (const lower::LoweredArgument &a : f.args) {
    ArgumentFacts facts;
    facts.name = a.name;
    facts.type = halide_type_t(a.type).with_lanes(1).as_u32();
    if (a.kind == Kind::InputScalar) {
      facts.kind = halide_argument_kind_input_scalar;
      if (a.param && a.param->is_set) facts.value = a.param->bits;
      if (a.param) {
        facts.min = bits_of(a.param->min_value, a.type);
        facts.max = bits_of(a.param->max_value, a.type);
        facts.estimate = bits_of(a.param->estimate, a.type);
      }
    } else {
      facts.kind = a.kind == Kind::InputBuffer ? halide_argument_kind_input_buffer
                                               : halide_argument_kind_output_buffer;
      facts.dimensions = a.dimensions;
      facts.estimates = estimates_of(a);
    }
    all.push_back(facts);
  }
  return all;
}

}  // namespace calotype::codegen
