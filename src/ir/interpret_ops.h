// Internal to the interpreter: loops that apply one operation to a run of lanes, one function per operation and type.
//
// A register holds kBatch lanes of one scalar type in its C++ type: integers as they are, bool as uint8_t 0 or 1, float16
// and bfloat16 as floats that hold representable values.
#pragma once

#include <cstdint>

#include "nodes.h"

namespace calotype::ir::interpreter {

constexpr int kBatch = 256;  ///< lanes
constexpr int kSlotBytes = kBatch * 8;

enum class Scalar : uint8_t { I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, F16, BF16, Bool };
/// Throws L0901 for types that the interpreter does not know (handles, odd widths).
Scalar scalar_of(Type t);
int scalar_size(Scalar s);  ///< bytes of a lane in a register

/// dst[i] = op(a[i], b[i], c[i]) for i in [begin, end).
using Loop = void (*)(void *dst, const void *a, const void *b, const void *c, int begin, int end);

/// The loop of an Add..Not or Select node whose operands (the branches of Select) are of type `t`.
Loop loop_of_node(NodeKind kind, Scalar t);
/// The loop of a Core intrinsic. `t`: first operand's type, `amount`: second operand's (shifts).
Loop loop_of_intrinsic(Intrinsic op, Scalar t, Scalar amount, bool fma);
Loop loop_of_cast(Scalar from, Scalar to);
Loop loop_of_reinterpret(Scalar from, Scalar to);

float round_to_float16(float x);
float round_to_bfloat16(float x);
uint16_t float16_bits(float x);  ///< of a representable value
float float16_from_bits(uint16_t b);

}  // namespace calotype::ir::interpreter
