// A compiled pipeline as someone who knows nothing but its interface sees it: names, types, estimates and
// a function of pointers. From that and a command line come the arguments of a call.
//
// Sizes of outputs: --output_extents, else those of the first input of the same rank; then a bounds query
// (which touches no data) says what the pipeline makes of them, how much of each input that needs, and
// which strides it insists on. A picture with fewer channels than the pipeline reads gets them by the
// rule in docs/language.md. Tests: test/unit/run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../runtime/HalideRuntime.h"
#include "buffers.h"
#include "values.h"

namespace calotype::run {

using Settings = std::vector<std::pair<std::string, std::string>>;  ///< name=value, in order

struct ArgumentInfo {
  std::string name;
  halide_argument_kind_t kind = halide_argument_kind_input_scalar;
  halide_type_t type;
  int dimensions = 0;
  std::optional<uint64_t> value, min, max, estimate;  ///< of scalars: bits
  struct Estimate {
    std::optional<int64_t> min, extent;
  };
  std::vector<Estimate> estimates;  ///< of buffers: per dimension, or empty
  bool is_output() const { return kind == halide_argument_kind_output_buffer; }
  bool is_buffer() const { return kind != halide_argument_kind_input_scalar; }
  /// The estimated region; false if one number is missing.
  bool estimated(Shape *shape) const;
};

struct Filter {
  std::string name, target;
  std::vector<ArgumentInfo> args;  ///< in call order
  /// argv[i]: halide_buffer_t * or a pointer to the scalar. Throws if the pipeline refuses.
  std::function<void(void **argv)> call;
};

/// From an ahead-of-time library's functions. `last_error` gives the text of the last halide_error.
Filter filter_of(int (*argv)(void **), const halide_filter_metadata_t &m,
                 std::function<std::string()> last_error);

struct Options {
  Settings values;
  std::string output_extents;   ///< "[w,h]", "a=[w,h],b=[n]", "estimate", or empty
  std::string default_buffers;  ///< source of inputs that are not given; empty: they must be
  std::string default_scalars;  ///< "estimate,default,0": the first that exists; empty: default
};

/// The arguments of a call.
struct Values {
  std::vector<Image> images;       ///< per argument; of scalars: empty
  std::vector<uint64_t> scalars;   ///< per argument
  std::vector<std::string> files;  ///< outputs: where to save, or empty
  std::vector<char> is_buffer;     ///< per argument
  std::vector<void *> argv();
};

/// Throws Error: R0101, R0201, R0202, L0401, L0502.
Values bind(const Filter &f, const Options &o);
/// Writes the outputs that have files. Throws Error R0201.
void save_outputs(const Filter &f, const Values &v);
void save(const std::string &file, const Image &image);

/// Types, ranks, defaults and estimates, for people.
std::string describe(const Filter &f);

}  // namespace calotype::run
