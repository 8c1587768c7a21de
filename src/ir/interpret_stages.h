// Internal to the interpreter: the state of one run. See Note [stages] in interpret_stages.cpp.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpret.h"
#include "interpret_memo.h"
#include "interpret_program.h"

namespace calotype::ir::interpreter {

constexpr int kMostDimensions = 16;

// A Func after its definition number `index`: Note [stages].
struct Stage {
  const Function *func = nullptr;
  const Definition *def = nullptr;
  int index = 0;
  Stage *before = nullptr;     // the Func as it was before this update
  std::vector<bool> in_slice;  // dimensions that the update keeps in place
  bool all_in_slice = false;
  std::unique_ptr<Memo> memo;
  std::unique_ptr<Program> program, predicate;  // pure: values; update: coordinates, then values
  std::vector<char> frame, predicate_frame;
  std::vector<bool> stores;          // update: Tuple elements that are not undef
  std::vector<int32_t> min, extent;  // of the RVars
  bool has_bounds = false;
  std::unordered_set<std::string> done;  // slices computed, by their coordinates' bytes
};

struct Site {  // what Machine::read_func is asked for
  Stage *stage;
  bool inside;  // a read of the Func by its own update
};

struct Image {
  const halide_buffer_t *buffer;
  Scalar type;
  ParameterRef param;
  const Stage *reader;
};

// Coordinates of a batch that are not stored elsewhere.
struct Coordinates {
  std::vector<std::vector<int32_t>> values;
  const int32_t *at[kMostDimensions];
  explicit Coordinates(int dimensions) : values(dimensions, std::vector<int32_t>(kBatch)) {
    for (int d = 0; d < dimensions; d++) at[d] = values[d].data();
  }
};

class Interpreter final : public Machine, public Resolver {
public:
  Interpreter(const ir::Program &p,
              const std::unordered_map<std::string, halide_buffer_t *> &inputs,
              const std::unordered_map<std::string, uint64_t> &scalars,
              const InterpretOptions &options)
      : p_(p), inputs_(inputs), scalars_(scalars), options_(options) {}

  InterpretReport run(const std::vector<halide_buffer_t *> &outputs);

  // --- Machine ---------------------------------------------------------------------------------------------------
  void read_func(int site, int index, const int32_t *const *at, int begin, int end,
                 void *out) override {
    fetch(*sites_[site].stage, sites_[site].inside, index, at, begin, end, out);
  }
  void read_image(int image, const int32_t *const *at, int begin, int end, void *out) override;
  void requirement_failed(const Call *op, const std::string &message) override;
  void unspecified(const std::string &what) override;

  // --- Resolver --------------------------------------------------------------------------------------------------
  int func_site(const Call *op, bool *is_self) override;
  int image(const Call *op) override;
  uint64_t parameter_bits(const Variable *op) override;

private:
  const ir::Program &p_;
  const std::unordered_map<std::string, halide_buffer_t *> &inputs_;
  const std::unordered_map<std::string, uint64_t> &scalars_;
  const InterpretOptions &options_;
  InterpretReport report_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unordered_map<Name, Stage *> last_;  // each Func after all its updates
  std::unordered_map<std::string, const halide_buffer_t *> output_buffers_;  // by parameter name
  std::vector<Site> sites_;
  std::vector<Image> images_;
  Stage *compiling_ = nullptr;

  void check_requirements();
  void name_output_buffers(const std::vector<halide_buffer_t *> &outputs);
  void add_stages(const Function &f);
  void find_slice(Stage &s);
  void compile(Stage &s);
  const halide_buffer_t *buffer_of(const ParameterRef &p);
  void compute_output(Stage &s, const std::vector<halide_buffer_t *> &buffers);
  void fetch(Stage &s, bool inside, int index, const int32_t *const *at, int begin, int end,
             void *out);
  void compute_misses(Stage &s, bool inside, const int32_t *const *at, const int *lanes,
                      const Place *places, int n);
  void compute_pure(Stage &s, const Coordinates &at, const Place *places, int n);
  void copy_from_before(Stage &s, const Coordinates &at, const Place *places, int n);
  void run_slices(Stage &s, const Coordinates &at, int n);
  void run_update(Stage &s, const Coordinates &slices, int n);
  void run_points(Stage &s, int n, int lanes);
  int select_lanes(Stage &s, int n, int lanes, std::vector<int> *ends);
  void store(Stage &s, int begin, int end);
  void find_bounds(Stage &s);

  void run_program(const Program &p, char *frame, bool self, int begin, int end);
};

}  // namespace calotype::ir::interpreter
