// What a pipeline takes from outside: scalar parameters, image parameters and embedded images. Also describes the
// constraints on output buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../base/source.h"
#include "expr.h"

struct halide_buffer_t;

namespace calotype::ir {

/// Owner of pixels that a parameter may be bound to. lang/buffer.cpp derives the real one.
struct CALO_EXPORT BufferHandle : RefCounted {
  ~BufferHandle() override;
  virtual halide_buffer_t *raw() const = 0;
};

/// What is promised or required of one dimension of a buffer; undefined where nothing is.
struct DimConstraint {
  Expr min, extent, stride;
  Expr min_estimate, extent_estimate;
};

/// A parameter. Mutable in value (set between runs) and constraints, not in kind. Shared by all Exprs that use it.
struct CALO_EXPORT Parameter : RefCounted {
  std::string name;      ///< unique within a pipeline (L0404)
  bool unnamed = false;  ///< each Program that uses it names it anew: param_0, image_0 ...
  Type type;
  bool is_buffer = false;
  bool embedded = false;  ///< a Buffer used directly in an Expr: bound for good, not an argument
  int dimensions = 0;
  SrcLoc loc;

  uint64_t bits = 0;    ///< scalar value, in the low `type.bits()` bits
  bool is_set = false;  ///< scalar: has a value
  Expr min_value, max_value, estimate;
  Ref<BufferHandle> buffer;  ///< buffer parameter: what it is bound to, if anything
  std::vector<DimConstraint> dims;
  int host_alignment = 0;    ///< bytes; 0: natural
  bool trace_loads = false;  ///< buffer: each read is traced
  ~Parameter() override;
};
using ParameterRef = Ref<const Parameter>;

}  // namespace calotype::ir
