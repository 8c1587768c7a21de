// What stands behind `name=` on a command line: numbers, extents, and where a buffer's content comes from.
//
//   scalars   a number, true, false, default (the pipeline's own value) or estimate
//   buffers   a file, raw:[extents]:FILE, or random:SEED:SIZE  zero:SIZE  constant:VALUE:SIZE  identity:SIZE
//   SIZE      [extents, dimension 0 first], auto (what the outputs need), estimate (what the generator
//             estimated), estimate_then_auto (the estimates, or auto where there are none)
// Tests: test/unit/run.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../runtime/HalideRuntime.h"

namespace calotype::run {

/// A mistake of the person who runs a pipeline: a code of base/codes.def, one line, and remedies.
class Error : public std::runtime_error {
public:
  Error(const std::string &its_code, const std::string &what, const std::string &remedy = {})
      : std::runtime_error(what), code(its_code), help(remedy) {}
  std::string code, help;
  std::string argument;  ///< the one that was not given, where that is the mistake
};

bool parse_int(const std::string &text, int64_t *value);
bool parse_double(const std::string &text, double *value);
/// "[512,512,3]"; "[]" for no dimension.
bool parse_extents(const std::string &text, std::vector<int> *extents);
/// The bits of a number as a scalar of type t; false if it is none, or does not fit.
bool parse_scalar(const std::string &text, halide_type_t t, uint64_t *bits);
/// What parse_scalar takes, in words.
std::string scalar_expected(halide_type_t t);

struct Source {
  enum class Kind { File, Raw, Random, Zero, Constant, Identity } kind = Kind::File;
  enum class Size { Own, Given, Auto, Estimate, EstimateThenAuto } size = Size::Own;
  std::vector<int> extents;  ///< Given
  std::string path;          ///< File, Raw
  int64_t seed = 0;          ///< Random
  std::string value;         ///< Constant: the number's text
};
/// Throws Error R0101 naming `argument`.
Source parse_source(const std::string &argument, const std::string &text);

}  // namespace calotype::run
