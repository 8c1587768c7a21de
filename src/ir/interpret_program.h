// Internal to the interpreter: expressions compiled to register programs that run over batches of lanes.
//
// Compilation numbers equal values once, keeps constants outside the register file and reuses registers after their last
// use. What leaves the program (reading Funcs, images, failing requirements) goes through Machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpret_ops.h"

namespace calotype::ir::interpreter {

class Program;

/// Registers: kBatch lanes each. Constants are shared by all activations of a program.
using Lanes = void *;
inline int32_t *as_int32(Lanes p) { return static_cast<int32_t *>(p); }

/// What a program asks of its surroundings. Coordinates: one array per dimension.
class Machine {
public:
  virtual ~Machine();
  /// Value `index` of the Func behind `site` at lanes [begin, end) of the coordinates.
  virtual void read_func(int site, int index, const int32_t *const *at, int begin, int end,
                         void *out) = 0;
  virtual void read_image(int image, const int32_t *const *at, int begin, int end, void *out) = 0;
  /// A condition of a require() failed; `message` is made of the values at that point.
  virtual void requirement_failed(const Call *op, const std::string &message) = 0;
  /// A value the language leaves open was computed; only when compiled with `track_unspecified`.
  virtual void unspecified(const std::string &what) = 0;
};

/// What names mean while a program is compiled.
class Resolver {
public:
  virtual ~Resolver();
  /// A number for Machine::read_func; `is_self`: the Func being computed, whose value changes as the update runs.
  virtual int func_site(const Call *op, bool *is_self) = 0;
  virtual int image(const Call *op) = 0;
  /// The bits of a scalar parameter or a dimension of a buffer: a constant.
  virtual uint64_t parameter_bits(const Variable *op) = 0;
};

struct CompileOptions {
  bool fma = true;
  Resolver *resolver = nullptr;
  bool track_unspecified = false;
  std::string where;  ///< of what is reported
};

/// One compiled list of expressions.
class Program {
public:
  /// `inputs`: names of the first registers, in order, all int32. Expressions need no expansion before.
  static std::unique_ptr<Program> compile(const std::vector<Expr> &exprs,
                                          const std::vector<Name> &inputs,
                                          const std::vector<Type> &input_types,
                                          const CompileOptions &options);

  int registers() const { return registers_; }
  int inputs() const { return inputs_; }
  Scalar output_type(int i) const { return output_types_[i]; }
  bool output_depends_on_self(int i) const { return output_self_[i]; }
  bool has_self() const { return has_self_; }
  /// Instructions that do not (false) or do (true) depend on reading the Func itself.
  int size(bool self) const { return static_cast<int>(self ? self_code_.size() : code_.size()); }

  Lanes input(char *frame, int i) const { return frame + static_cast<size_t>(i) * kSlotBytes; }
  Lanes output(char *frame, int i) const { return slot(frame, outputs_[i]); }
  /// Runs all instructions that do not depend on self (or, `self`, all that do) on lanes [begin, end).
  void run(char *frame, bool self, int begin, int end, Machine *machine) const;

private:
  friend class Compiler;
  struct Instruction {
    Loop loop = nullptr;  // null: one of the below
    enum Kind : uint8_t { Simple, ReadFunc, ReadImage, Branch, Require, Overflow } kind = Simple;
    int dst = 0, a = 0, b = 0, c = 0;  // registers; negative: constant ~n
    int site = 0, index = 0;           // ReadFunc, ReadImage
    std::vector<int> args;             // coordinates, or values that Branch passes on
    std::vector<int> arg_sizes;        // Branch: bytes of a lane
    std::unique_ptr<Program> then_part, else_part;
    const Call *op = nullptr;
    Scalar type = Scalar::I32;  // Overflow
    std::string text;           // Overflow, undef: what to report
    int size = 0;               // bytes of a lane of dst
  };

  Lanes slot(char *frame, int r) const {
    return r >= 0 ? frame + static_cast<size_t>(r) * kSlotBytes
                  : const_cast<char *>(constants_.data()) + static_cast<size_t>(~r) * kSlotBytes;
  }
  std::string message_of(const Instruction &in, char *frame, int lane) const;
  void run_branch(const Instruction &in, char *frame, int begin, int end, Machine *machine) const;
  void run_one(const Instruction &in, char *frame, int begin, int end, Machine *machine) const;

  int registers_ = 0, inputs_ = 0;
  bool has_self_ = false;
  std::vector<Instruction> code_, self_code_;
  std::vector<char> constants_;
  std::vector<int> outputs_;
  std::vector<Scalar> output_types_;
  std::vector<bool> output_self_;
  std::vector<Expr> keep_;  // expressions that instructions point into
};

/// Reads one lane as a double or integer, for tests and bounds.
int64_t lane_as_int(const void *lanes, Scalar s, int i);

}  // namespace calotype::ir::interpreter
