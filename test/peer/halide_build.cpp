// Compiles one of our generators with the Halide package, under a schedule in C++ form.
//
// The generator's source is included as it is (it carries no directive), so is the text that
// `calo schedule --as cpp` prints; bench.py declares the Funcs that text names by find_func. Then:
//   halide_build aot NAME PREFIX   writes PREFIX.a and PREFIX.h, timed later by halide_time.cpp
//   halide_build jit NAME          prints the ms from the start of generate() to runnable code
#include ALGORITHM_SOURCE  // includes Halide.h

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer {

std::map<std::string, Halide::Internal::Function> functions;

Halide::Func find_func(const std::string &name) {
  const auto found = functions.find(name);
  if (found == functions.end()) throw std::runtime_error("the pipeline has no Func " + name);
  return Halide::Func(found->second);
}

void apply_schedule() {
  using namespace Halide;
  [[maybe_unused]] const auto get_target = [] {
    return get_target_from_environment();
  };  // as in a generator
#include SCHEDULE_SOURCE
}

std::vector<Halide::Argument> arguments_of(Halide::Internal::AbstractGenerator &generator) {
  std::vector<Halide::Argument> arguments;
  for (const auto &info : generator.arginfos()) {
    if (info.dir != Halide::Internal::ArgInfoDirection::Input) continue;
    for (const Halide::Parameter &p : generator.input_parameter(info.name)) {
      const auto kind =
          p.is_buffer() ? Halide::Argument::InputBuffer : Halide::Argument::InputScalar;
      arguments.emplace_back(p.name(), kind, p.type(), p.is_buffer() ? p.dimensions() : 0,
                             p.get_argument_estimates());
    }
  }
  return arguments;
}

int run(int argc, char **argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode != "jit" && !(mode == "aot" && argc > 3)) {
    throw std::runtime_error("usage: jit NAME | aot NAME PREFIX");
  }
  const Halide::Target target = Halide::get_target_from_environment();  // HL_TARGET, else the host
  auto generator =
      Halide::Internal::GeneratorRegistry::create(argv[2], Halide::GeneratorContext(target));
  const auto start = std::chrono::steady_clock::now();
  Halide::Pipeline pipeline = generator->build_pipeline();
  for (const Halide::Func &output : pipeline.outputs()) {
    const auto called = Halide::Internal::find_transitive_calls(output.function());
    functions.insert(called.begin(), called.end());
  }
  apply_schedule();
  if (mode == "aot") {
    pipeline.compile_to_static_library(argv[3], arguments_of(*generator), argv[2], target);
    return 0;
  }
  pipeline.compile_jit(target);
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  std::printf("%.3f\n", ms.count());
  return 0;
}

}  // namespace peer

int main(int argc, char **argv) {
  try {
    return peer::run(argc, argv);
  } catch (const std::exception &e) {  // Halide's errors derive from it
    std::fprintf(stderr, "halide_build: %s\n", e.what());
    return 1;
  }
}
