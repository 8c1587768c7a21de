// Ahead-of-time files: what programs that link them see. Libraries are made by Pipeline::compile_to_* and used by C
// programs and shared objects that the system's compiler makes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "base/diagnostic.h"
#include "calotype.h"
#include "driver/artifacts.h"
#include "support/shell.h"
#include "support/skip.h"

using namespace calotype;
using test::SharedObject;
using test::shell;
using test::temporary;
namespace fs = std::filesystem;

namespace {

const std::string kInclude = "-I" CALO_SOURCE_DIR "/src/runtime ";

/// The code of the diagnostic that `f` throws, or an empty string.
template <typename F> std::string code_of(F f) {
  try {
    f();
  } catch (const Error &e) {
    return e.diagnostic().code;
  }
  return "";
}

struct Scale {
  ImageParam input{UInt(8), 2, "input"};
  Param<uint8_t> factor{"factor"};
  Param<float> offset{"offset", 0.5f, -10.0f, 10.0f};
  Func out{"out"};
  Var x{"x"}, y{"y"};
  Scale() {
    out(x, y) = cast<float>(input(x, y)) * factor + offset;
    input.set_estimates({{0, 640}, {0, 480}});
  }
  std::vector<Argument> args() const { return {input, factor, offset}; }
};

template <typename T> Buffer<T> ramp(int w, int h) {
  Buffer<T> b(w, h);
  b.for_each_element([&](int x, int y) { b(x, y) = static_cast<T>(x * 7 + y * 3); });
  return b;
}

/// Builds `out` as a library in the temporary folder and compiles a C program with it.
test::ShellResult c_program(const std::string &source, const std::string &libraries) {
  const std::string file = temporary("main.c"), program = temporary("main");
  test::write_text_file(file, source);
  const test::ShellResult built =
      shell("cc -std=c11 -Wall -Wextra -Werror " + kInclude + "-I" + temporary("") + " -o " +
            program + " " + file + " " + libraries + " -lpthread -ldl");
  return built.code == 0 ? shell(program) : built;
}

constexpr const char *kScaleMain = R"c(
#include "HalideRuntime.h"
#include "scale.h"
#include <stdio.h>
int main(void) {
  uint8_t in[5 * 3];
  float out[5 * 3];
  for (int i = 0; i < 15; i++) in[i] = (uint8_t)(i * 3);
  halide_dimension_t a[2] = {{0, 5, 1, 0}, {0, 3, 5, 0}}, b[2] = {{0, 5, 1, 0}, {0, 3, 5, 0}};
  halide_buffer_t input = {0}, output = {0};
  input.host = in;
  input.type.code = halide_type_uint;
  input.type.bits = 8;
  input.type.lanes = 1;
  input.dimensions = 2;
  input.dim = a;
  output = input;
  output.host = (uint8_t *)out;
  output.type.code = halide_type_float;
  output.type.bits = 32;
  output.dim = b;
  if (scale(&input, 2, 0.25f, &output) != 0) return 1;
  for (int i = 0; i < 15; i++) {
    if (out[i] != in[i] * 2.0f + 0.25f) return 2;
  }
  uint8_t factor = 4;
  float offset = 1;
  void *args[] = {&input, &factor, &offset, &output};
  if (scale_argv(args) != 0 || out[14] != in[14] * 4.0f + 1) return 3;
  printf("fine\n");
  fflush(stdout);
  output.type.bits = 64;
  return scale(&input, 2, 0, &output) == halide_error_code_bad_type ? 0 : 4;
}
)c";

}  // namespace

TEST_CASE("aot: a plain C program links a static library and runs") {
  Scale s;
  s.out.compile_to_static_library(temporary("scale"), s.args(), "scale");
  const test::ShellResult r = c_program(kScaleMain, temporary("scale.a"));
  CHECK_MESSAGE(r.code == 0, r.out);
  CHECK(r.out ==
        "fine\nerror[R0101]: scale: argument out has elements of type float64, expected "
        "float32\n");
  // Needs neither the C++ library nor ours, and the header is C++ as well.
  const test::ShellResult needs = shell("ldd " + temporary("main"));
  CHECK(needs.out.find("libstdc++") == std::string::npos);
  CHECK(needs.out.find("calotype") == std::string::npos);
  CHECK(shell("c++ -Wall -Wextra -Werror -fsyntax-only -x c++ " + temporary("scale.h")).code == 0);
  CHECK(
      shell("strip --strip-unneeded -o " + temporary("stripped") + " " + temporary("main")).code ==
      0);
  CHECK(fs::file_size(temporary("stripped")) < 500 * 1000);
  CHECK(driver::runtime_object().size() < 500 * 1000);
}

TEST_CASE("aot: no_runtime leaves the runtime out, and it can be written alone") {
  Scale s;
  const Target t = get_host_target().with_feature(Target::NoRuntime);
  s.out.compile_to_static_library(temporary("scale"), s.args(), "scale", t);
  CHECK(c_program(kScaleMain, temporary("scale.a")).code != 0);
  const auto files = driver::write_runtime({"static_library", "object", "c_header"},
                                           temporary("made/by/write"), "rt");
  REQUIRE(files.size() == 3);
  const test::ShellResult r =
      c_program(kScaleMain, temporary("scale.a") + " " + temporary("made/by/write/rt.a"));
  CHECK_MESSAGE(r.code == 0, r.out);
  // Two libraries with a runtime each, and the runtime as an object too: one of them serves.
  s.out.compile_to_static_library(temporary("other"), s.args(), "other");
  const test::ShellResult twice =
      c_program(kScaleMain, temporary("scale.a") + " " + temporary("other.a") + " " +
                                temporary("made/by/write/rt.o"));
  CHECK_MESSAGE(twice.code == 0, twice.out);
  CHECK(code_of([&] { driver::write_runtime({"stmt"}, temporary(""), "rt"); }) == "L0502");
}

TEST_CASE("aot: the runtime defines every function that HalideRuntime.h declares") {
  const std::string header = test::read_file(CALO_SOURCE_DIR "/src/runtime/HalideRuntime.h");
  driver::write_file(temporary("rt.o"), driver::runtime_object());
  const std::string names = shell("nm -g --defined-only " + temporary("rt.o")).out;
  std::set<std::string> missing;
  int declared = 0;
  for (size_t at = header.find("halide_"); at != std::string::npos;
       at = header.find("halide_", at + 1)) {
    const size_t end = header.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
    const size_t line = header.rfind('\n', at) + 1;
    const std::string start = header.substr(line, at - line);
    const bool is_function = header[end] == '(' && end - at > 7 && !start.empty() &&
                             start[0] != ' ' && start[0] != '#' && start[0] != '/' &&
                             start.find("typedef") == std::string::npos &&
                             start.find("constexpr") == std::string::npos;
    if (!is_function) continue;
    declared++;
    const std::string name = header.substr(at, end - at);
    if (names.find(" W " + name + "\n") == std::string::npos) missing.insert(name);
  }
  CHECK(declared > 60);
  for (const std::string &m : missing) FAIL_CHECK(m << " is declared but not defined weak");
}

TEST_CASE("aot: a program's own hooks take the place of the runtime's") {
  Func f("f"), g("g");
  Var x("x"), y("y");
  f(x, y) = x + y;
  g(x, y) = f(x, y) + f(x + 1, y);
  f.compute_root();
  g.parallel(y);
  g.compile_to_static_library(temporary("hooked"), {}, "hooked");
  const test::ShellResult r = c_program(R"c(
#include "HalideRuntime.h"
#include "hooked.h"
#include <stdio.h>
#include <stdlib.h>
static int allocations, frees, loops;
void *halide_malloc(void *cx, size_t bytes) { (void)cx; allocations++; return aligned_alloc(128, (bytes + 127) / 128 * 128); }
void halide_free(void *cx, void *p) { (void)cx; frees += p != NULL; free(p); }
static int serial(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
  loops++;
  for (int i = min; i < min + size; i++) {
    const int code = halide_do_task(cx, task, i, closure);
    if (code != 0) return code;
  }
  return 0;
}
void halide_error(void *cx, const char *text) { (void)cx; printf("heard %s", text); }
int main(void) {
  static int32_t out[100 * 100];
  halide_dimension_t d[2] = {{0, 100, 1, 0}, {0, 100, 100, 0}};
  halide_buffer_t b = {0};
  b.host = (uint8_t *)out;
  b.type.code = halide_type_int;
  b.type.bits = 32;
  b.type.lanes = 1;
  b.dimensions = 2;
  b.dim = d;
  halide_set_custom_do_par_for(serial);
  if (hooked(&b) != 0 || out[250] != 2 * 52 + 1) return 1;
  d[1].extent = -4;
  const int code = hooked(&b);
  printf("%d %d %d %d\n", allocations, frees, loops, code);
  return 0;
}
)c",
                                        temporary("hooked.a"));
  CHECK_MESSAGE(r.code == 0, r.out);
  CHECK(r.out ==
        "heard error[R0101]: hooked: argument g has extent -4 in dimension 1, expected 0 or "
        "more\n1 1 1 -28\n");
}

TEST_CASE("aot: metadata describes the arguments") {
  Scale s;
  s.out.output_buffer().dim(0).set_estimate(3, 100);
  s.out.compile_to_object(temporary("scale.o"), s.args(), "scale");
  s.out.compile_to_c(temporary("scale.c"), s.args(), "scale");
  for (const char *file : {"scale.o", "scale.c"}) {
    const SharedObject lib(temporary(file));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    const auto *m = lib.find<const halide_filter_metadata_t *()>("scale_metadata")();
    CHECK(m->version == 1);
    CHECK(std::string(m->name) == "scale");
    CHECK(std::string(m->target) == get_target_from_environment().to_string());
    REQUIRE(m->num_arguments == 4);
    const halide_filter_argument_t *a = m->arguments;
    CHECK(std::string(a[0].name) == "input");
    CHECK(a[0].kind == halide_argument_kind_input_buffer);
    CHECK(a[0].dimensions == 2);
    CHECK(a[0].type == halide_type_of<uint8_t>());
    REQUIRE(a[0].buffer_estimates);
    CHECK(*a[0].buffer_estimates[1] == 640);
    CHECK(*a[0].buffer_estimates[3] == 480);
    CHECK(a[0].scalar_def == nullptr);
    CHECK(a[1].kind == halide_argument_kind_input_scalar);
    CHECK(a[1].type == halide_type_of<uint8_t>());
    CHECK(a[1].scalar_min == nullptr);
    CHECK(a[2].scalar_def->u.f32 == 0.5f);
    CHECK(a[2].scalar_min->u.f32 == -10.0f);
    CHECK(a[2].scalar_max->u.f32 == 10.0f);
    CHECK(std::string(a[3].name) == "out");
    CHECK(a[3].kind == halide_argument_kind_output_buffer);
    REQUIRE(a[3].buffer_estimates);
    CHECK(*a[3].buffer_estimates[0] == 3);
    CHECK(*a[3].buffer_estimates[1] == 100);
    CHECK(a[3].buffer_estimates[2] == nullptr);
  }
}

TEST_CASE("aot: bounds queries answer without touching data") {
  Scale s;
  s.out.compile_to_object(temporary("scale.o"), s.args(), "scale");
  const SharedObject lib(temporary("scale.o"));
  REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
  auto *scale = lib.find<int(halide_buffer_t *, uint8_t, float, halide_buffer_t *)>("scale");
  halide_dimension_t in_dims[2] = {}, out_dims[2] = {{3, 20, 1}, {-4, 9, 20}};
  halide_buffer_t in{}, out{};
  in.dimensions = out.dimensions = 2;
  in.dim = in_dims;
  out.dim = out_dims;
  out.type = halide_type_of<float>();
  for (const bool output_too : {true, false}) {
    in = {};
    in.dimensions = 2;
    in.dim = in_dims;
    out.host = output_too ? nullptr : reinterpret_cast<uint8_t *>(uintptr_t(64));
    CHECK(scale(&in, 1, 0, &out) == 0);
    CHECK(in.type == halide_type_of<uint8_t>());
    CHECK(in_dims[0] == halide_dimension_t(3, 20, 1));
    CHECK(in_dims[1] == halide_dimension_t(-4, 9, 20));
  }
}

TEST_CASE("aot: images in the program become constants of the object") {
  Buffer<uint16_t> table(300);
  table.for_each_element([&](int i) { table(i) = static_cast<uint16_t>(i * i); });
  Buffer<float> weights(3, 2);
  weights.for_each_element(
      [&](int i, int j) { weights(i, j) = static_cast<float>(i) + 0.25f * static_cast<float>(j); });
  ImageParam input(UInt(8), 2, "input");
  Func f("f");
  Var x("x"), y("y");
  f(x, y) = cast<float>(table(cast<int>(input(x, y)))) * weights(clamp(x, 0, 2), clamp(y, 0, 1));
  const Buffer<uint8_t> in = ramp<uint8_t>(40, 11);
  input.set(in);
  const Buffer<float> expected = f.realize({40, 11});
  f.compile_to_object(temporary("f.o"), {input}, "f");
  f.compile_to_c(temporary("f.c"), {input}, "f");
  for (const char *file : {"f.o", "f.c"}) {
    const SharedObject lib(temporary(file));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    Buffer<float> out(40, 11);
    CHECK(lib.find<int(halide_buffer_t *, halide_buffer_t *)>("f")(in.raw_buffer(),
                                                                   out.raw_buffer()) == 0);
    int different = 0;
    out.for_each_element([&](int i, int j) { different += out(i, j) != expected(i, j); });
    CHECK(different == 0);
  }
}

TEST_CASE("aot: user_context comes first everywhere and reaches the hooks") {
  Scale s;
  const Target t = get_host_target().with_feature(Target::UserContext);
  s.out.compile_to_object(temporary("scale.o"), s.args(), "scale", t);
  s.out.compile_to_c(temporary("scale.c"), s.args(), "scale", t);
  for (const char *file : {"scale.o", "scale.c"}) {
    const SharedObject lib(temporary(file));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    static void *heard;
    lib.find<void *(halide_error_handler_t)>("halide_set_error_handler")(
        [](void *cx, const char *) { heard = cx; });
    int context = 0;
    auto *scale =
        lib.find<int(void *, halide_buffer_t *, uint8_t, float, halide_buffer_t *)>("scale");
    CHECK(scale(&context, nullptr, 1, 0, nullptr) == halide_error_code_buffer_argument_is_null);
    CHECK(heard == &context);
    heard = nullptr;
    void *cx = &context;
    uint8_t factor = 1;
    float offset = 0;
    void *args[] = {&cx, nullptr, &factor, &offset, nullptr};
    CHECK(lib.find<int(void **)>("scale_argv")(args) == halide_error_code_buffer_argument_is_null);
    CHECK(heard == &context);
    const auto *m = lib.find<const halide_filter_metadata_t *()>("scale_metadata")();
    CHECK(m->num_arguments == 5);
    CHECK(std::string(m->arguments[0].name) == "__user_context");
    CHECK(m->arguments[0].type.code == halide_type_handle);
  }
}

TEST_CASE("aot: scalars of every type, a Tuple and parallel loops come through") {
  Param<bool> b("b");
  Param<int8_t> i8("i8");
  Param<uint16_t> u16("u16");
  Param<int64_t> i64("i64");
  Param<double> f64("f64");
  Func f("f"), g("g");
  Var x("x"), y("y");
  f(x, y) = cast<int64_t>(x) * i64 + i8 + u16;
  g(x, y) = Tuple(f(x, y) + f(x, y + 1), select(b, f64 * x, cast<double>(y)));
  f.compute_at(g, y);
  g.parallel(y).vectorize(x, 4);
  const std::vector<Argument> args = {b, i8, u16, i64, f64};
  g.compile_to_object(temporary("g.o"), args, "g");
  g.compile_to_c(temporary("g.c"), args, "g");
  for (const char *file : {"g.o", "g.c"}) {
    const SharedObject lib(temporary(file));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    Buffer<int64_t> first(33, 20);
    Buffer<double> second(33, 20);
    auto *run = lib.find<int(bool, int8_t, uint16_t, int64_t, double, halide_buffer_t *,
                             halide_buffer_t *)>("g");
    CHECK(run(true, -5, 60000, int64_t(1) << 40, 0.1, first.raw_buffer(), second.raw_buffer()) ==
          0);
    CHECK(first(32, 19) == 2 * (32 * (int64_t(1) << 40) - 5 + 60000));
    CHECK(second(32, 19) == 0.1 * 32);
    CHECK(run(false, 1, 2, 3, 4, first.raw_buffer(), second.raw_buffer()) == 0);
    CHECK(second(32, 19) == 19.0);
  }
}

TEST_CASE("aot: a processor that lacks the instructions is refused, or served by another target") {
  Scale s;
  s.out.vectorize(s.x, 8);
  const Target host = get_host_target();
  if (!host.has_feature(Target::AVX2) || host.has_feature(Target::AVX512_SapphireRapids)) {
    CALO_SKIP("this test wants a machine with AVX2 and without AVX512 of Sapphire Rapids");
  }
  const Target best("x86-64-linux-avx512_sapphirerapids"), good("x86-64-linux-avx2-fma-f16c"),
      any("x86-64-linux");
  const Buffer<uint8_t> in = ramp<uint8_t>(50, 10);
  Buffer<float> out(50, 10);
  {
    s.out.compile_to_object(temporary("scale.o"), s.args(), "scale", best);
    const SharedObject lib(temporary("scale.o"));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    static std::string text;
    lib.find<void *(halide_error_handler_t)>("halide_set_error_handler")(
        [](void *, const char *t) { text = t; });
    auto *scale = lib.find<int(halide_buffer_t *, uint8_t, float, halide_buffer_t *)>("scale");
    CHECK(scale(in.raw_buffer(), 1, 0, out.raw_buffer()) == -102);
    CHECK(text.find("which this processor cannot run") != std::string::npos);
    CHECK(text.find("it lacks one of avx512_sapphirerapids") != std::string::npos);
  }
  Pipeline(s.out).compile_to_multitarget_static_library(temporary("multi"), s.args(),
                                                        {best, good, any});
  const test::ShellResult members = shell("ar t " + temporary("multi.a"));
  CHECK(members.out ==
        "multi_x86_64_linux_avx512_sapphirerapids.o\nmulti_x86_64_linux_avx2_f16c_fma.o\n"
        "multi_x86_64_linux.o\nmulti.o\ncalotype_runtime.o\n");
  const SharedObject lib("-Wl,--whole-archive " + temporary("multi.a") + " -Wl,--no-whole-archive");
  REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
  auto *multi = lib.find<int(halide_buffer_t *, uint8_t, float, halide_buffer_t *)>("multi");
  CHECK(multi(in.raw_buffer(), 3, 0.5f, out.raw_buffer()) == 0);
  CHECK(out(49, 9) == static_cast<float>(in(49, 9)) * 3 + 0.5f);
}

TEST_CASE("aot: a program may say no to a target, and metadata names the one that is chosen") {
  Scale s;
  const Target good("x86-64-linux-sse41"), any("x86-64-linux");
  if (!get_host_target().has_feature(Target::SSE41)) CALO_SKIP("no SSE 4.1 here");
  s.out.compile_to_multitarget_static_library(temporary("choice"), s.args(), {good, any});
  CHECK(test::read_file(temporary("choice.h")).find(good.to_string() + ", " + any.to_string()) !=
        std::string::npos);
  const SharedObject lib("-Wl,--whole-archive " + temporary("choice.a") +
                         " -Wl,--no-whole-archive");
  REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
  auto *metadata = lib.find<const halide_filter_metadata_t *()>("choice_metadata");
  CHECK(std::string(metadata()->target) == good.to_string());
  CHECK(std::string(metadata()->name) == "choice");
  auto *can_use = lib.find<int(int, const uint64_t *)>("halide_can_use_target_features");
  const uint64_t sse41[] = {uint64_t(1) << halide_target_feature_sse41};
  CHECK(can_use(1, sse41) == 1);
  lib.find<void *(halide_can_use_target_features_t)>("halide_set_custom_can_use_target_features")(
      [](int, const uint64_t *) { return 0; });
  CHECK(std::string(metadata()->target) == any.to_string());
  const Buffer<uint8_t> in = ramp<uint8_t>(50, 10);
  Buffer<float> out(50, 10);
  auto *choice = lib.find<int(halide_buffer_t *, uint8_t, float, halide_buffer_t *)>("choice");
  CHECK(choice(in.raw_buffer(), 3, 0.5f, out.raw_buffer()) == 0);
  CHECK(out(49, 9) == static_cast<float>(in(49, 9)) * 3 + 0.5f);
}

TEST_CASE("aot: features have the numbers that the runtime's header says") {
  CHECK(int(Target::SSE41) == halide_target_feature_sse41);
  CHECK(int(Target::AVX) == halide_target_feature_avx);
  CHECK(int(Target::AVX2) == halide_target_feature_avx2);
  CHECK(int(Target::FMA) == halide_target_feature_fma);
  CHECK(int(Target::F16C) == halide_target_feature_f16c);
  CHECK(int(Target::AVX512) == halide_target_feature_avx512);
  CHECK(int(Target::AVX512_KNL) == halide_target_feature_avx512_knl);
  CHECK(int(Target::AVX512_Skylake) == halide_target_feature_avx512_skylake);
  CHECK(int(Target::AVX512_Cannonlake) == halide_target_feature_avx512_cannonlake);
  CHECK(int(Target::AVX512_Zen4) == halide_target_feature_avx512_zen4);
  CHECK(int(Target::AVX512_Zen5) == halide_target_feature_avx512_zen5);
  CHECK(int(Target::AVX512_SapphireRapids) == halide_target_feature_avx512_sapphirerapids);
  CHECK(int(Target::AVX10_1) == halide_target_feature_avx10_1);
  CHECK(int(Target::AVXVNNI) == halide_target_feature_avxvnni);
}

namespace {
/// A pipeline of unnamed things, all of which mention each other: in definitions, constraints, directives, requirements.
std::string files_of_unnamed() {
  ImageParam image(UInt(8), 1);
  Param<int> scale, size;
  Buffer<uint8_t> table(256);
  table.fill(1);
  image.dim(0).set_extent(size);
  Func f;
  Var x;
  f(x) = table(clamp(cast<int>(image(x)) * scale, 0, 255));
  f.specialize(scale == 1).vectorize(x, 8);
  Pipeline p(f);
  p.add_requirement(scale > 0, "scale must be positive");
  const std::string header = temporary("unnamed.h"), program = temporary("unnamed.stmt");
  p.compile_to({{OutputFileType::c_header, header}, {OutputFileType::stmt, program}},
               {scale, size, image}, "unnamed");
  return test::read_file(header) + test::read_file(program);
}
}  // namespace

TEST_CASE("aot: unnamed arguments have the same names whatever was made before") {
  const std::string first = files_of_unnamed();
  Param<float> other;
  ImageParam another(Float(32), 2);
  Buffer<int> third(4);
  CHECK(files_of_unnamed() == first);
  CHECK(first.find("int unnamed(int32_t _param_0, int32_t _param_1, struct halide_buffer_t "
                   "*_image_0") != std::string::npos);
}

TEST_CASE("aot: targets that do not go together, odd names and kinds are refused") {
  Scale s;
  const Target a("x86-64-linux-avx2"), b("x86-64-linux-user_context");
  Pipeline p(s.out);
  CHECK(code_of([&] {
          p.compile_to_multitarget_static_library(temporary("m"), s.args(), {a, b});
        }) == "T0101");
  CHECK(code_of([&] {
          p.compile_to_multitarget_static_library(temporary("m"), s.args(), {a, a});
        }) == "T0101");
  CHECK(code_of([&] { p.compile_to_multitarget_static_library(temporary("m"), s.args(), {}); }) ==
        "T0101");
  CHECK(code_of([&] { p.compile_to_object(temporary("m.o"), s.args(), "not a name"); }) == "T0105");
  for (const char *reserved : {"int", "double", "class", "restrict", "main", "printf", "malloc",
                               "exp", "halide_error", "calo_malloc", "halide_", ""}) {
    CAPTURE(reserved);
    CHECK((code_of([&] { p.compile_to_object(temporary("m.o"), s.args(), reserved); }) ==
           "T0105") == (*reserved != 0));
  }
  fs::remove(temporary("m.o"));
  CHECK(code_of([&] { p.compile_to({{OutputFileType::hlpipe, temporary("m")}}, s.args(), "f"); }) ==
        "L0901");
  CHECK(code_of([&] { driver::check_artifact_kind("static_libary"); }) == "L0502");
  CHECK(!fs::exists(temporary("m.o")));
}

TEST_CASE("aot: files appear whole, in folders made for them, or not at all") {
  driver::write_file(temporary("new/folder/file"), "text");
  CHECK(test::read_file(temporary("new/folder/file")) == "text");
  driver::write_file(temporary("new/folder/file"), "other");
  CHECK(test::read_file(temporary("new/folder/file")) == "other");
  int files = 0;
  for (const auto &e : fs::directory_iterator(temporary("new/folder"))) files += e.exists();
  CHECK(files == 1);  // no temporary stays
  CHECK(code_of([&] { driver::write_file(temporary("new/folder"), "x"); }) == "R0201");
  CHECK(code_of([&] { driver::write_file(temporary("new/folder/file/below"), "x"); }) == "R0201");
  CHECK(code_of([&] { driver::write_file("/proc/nowhere/file", "x"); }) == "R0201");
  if (fs::exists("/dev/full"))
    CHECK(code_of([&] { driver::write_file("/dev/full", "x"); }) == "R0201");
}

TEST_CASE("aot: the same request gives the same bytes") {
  Scale s;
  s.out.vectorize(s.x, 8).parallel(s.y);
  for (const char *name : {"one", "two"}) {
    s.out.compile_to_static_library(temporary(name), s.args(), "scale");
  }
  CHECK(test::read_file(temporary("one.a")) == test::read_file(temporary("two.a")));
}
