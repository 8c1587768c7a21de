// Generators: arrays of ports, what is left open, apply() from another Generator, schedule files.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "calotype.h"
#include "driver/generator.h"
#include "support/check_diag.h"

namespace {

/// Everything open: types, ranks, how many.
class Blend : public calotype::Generator<Blend> {
public:
  Input<Buffer<>[]> images{"images"};
  Input<float[2]> weights{"weights", 0.5f};
  Input<Func[]> more{1, "more", Float(32), 2};
  Output<Func[]> parts{"parts", 2};
  Output<Buffer<float, 2>> total{"total"};
  void generate() {
    Expr sum = more[0](x, y);
    for (size_t i = 0; i < images.size(); i++) {
      parts[i](x, y) = cast<float>(images[i](x, y)) * weights[i % 2];
      sum = sum + parts[i](x, y);
    }
    total(x, y) = sum;
  }

private:
  Var x{"x"}, y{"y"};
};

class Box : public calotype::Generator<Box> {
public:
  GeneratorParam<int> radius{"radius", 1, 0, 8};
  GeneratorParam<LoopLevel> level{"level", LoopLevel::root()};
  GeneratorParam<Type> type{"type", UInt(16)};
  GeneratorParam<float> gain{"gain", 1.0f, 0.0f, 4.0f};
  GeneratorParam<std::string> note{"note", "none"};
  GeneratorParam<int8_t> small{"small", 0};
  Input<Buffer<>> input{"input", 1};
  Input<int> offset{"offset", 0};
  Output<Func> output{"output"};
  void generate() {
    RDom r(-radius, 2 * radius + 1);
    sum_(x) = offset;
    sum_(x) += cast<int>(input(x + r));
    output(x) = sum_(x) + input.dim(0).extent();
  }
  void schedule() { sum_.compute_at(level); }

private:
  Func sum_{"sum"};
  Var x{"x"};
};

class Twice : public calotype::Generator<Twice> {
public:
  Input<Func> f{"f", Int(32), 1};
  Input<Func[]> g{"g"};
  Input<float> scale{"scale"};
  Output<Func> output{"output", Float(32), 1};
  void generate() {
    Expr sum = cast<float>(f(x)) * scale;
    for (const auto &one : g) sum = sum + cast<float>(one(x));
    output(x) = sum;
  }

private:
  Var x{"x"};
};

/// Uses both of the above.
class Outer : public calotype::Generator<Outer> {
public:
  Input<Buffer<uint8_t, 1>> input{"input"};
  Output<Buffer<float, 1>> output{"output"};
  void generate() {
    auto box = create<Box>();
    box->radius.set(2);
    box->apply(input, 10);
    Func ramp("ramp");
    ramp(x) = x;
    auto twice = apply<Twice>(box->output, std::vector<Func>{ramp, ramp}, 0.5f);
    output = twice->output;
  }

private:
  Var x{"x"};
};

class Configured : public calotype::Generator<Configured> {
public:
  GeneratorParam<int> extra{"extra", 0};
  Input<Buffer<int, 1>> input{"input"};
  Output<Buffer<int, 1>> output{"output"};
  void configure() {
    if (extra > 0) more_ = add_input<Buffer<int, 1>[]>("more");
    if (more_) more_->resize(extra);
    if (extra > 1) sum_ = add_output<Buffer<int, 1>>("sum");
    if (extra > 2) add_input<int>("unused");
  }
  void generate() {
    Var x("x");
    Expr e = input(x);
    for (int i = 0; i < extra; i++) e = e + (*more_)[i](x);
    output(x) = e;
    if (sum_) (*sum_)(x) = e * 2;
  }

private:
  Input<Buffer<int, 1>[]> *more_ = nullptr;
  Output<Buffer<int, 1>> *sum_ = nullptr;
};

class TypedByItself : public calotype::Generator<TypedByItself> {
public:
  Input<Buffer<>[]> images{"images", 1};
  Output<Buffer<void, 1>> output{"output"};
  void configure() {
    images.resize(2);
    images.set_type(UInt(16));
    output.set_type(UInt(16));
  }
  void generate() {
    Var x("x");
    output(x) = images[0](x) + images[1](x);
  }
};

class SameName : public calotype::Generator<SameName> {
public:
  GeneratorParam<int> a{"a", 1};
  Output<Buffer<int, 1>> b{"a"};
  void generate() {}
};
class BadName : public calotype::Generator<BadName> {
public:
  Output<Buffer<int, 1>> b{"two words"};
  void generate() {}
};

HALIDE_REGISTER_GENERATOR(Blend, blend_generator)
HALIDE_REGISTER_GENERATOR(Box, box_generator)
HALIDE_REGISTER_GENERATOR(Outer, outer_generator)
HALIDE_REGISTER_GENERATOR(Configured, configured_generator)
HALIDE_REGISTER_GENERATOR(TypedByItself, typed_by_itself)
HALIDE_REGISTER_GENERATOR(SameName, same_name_generator)
HALIDE_REGISTER_GENERATOR(BadName, bad_name_generator)

using namespace calotype;

std::unique_ptr<GeneratorBase> make(const char *name) {
  return driver::create_generator(name, GeneratorContext(get_host_target()));
}

std::string names_of(const std::vector<driver::Port *> &ports) {
  std::string names;
  for (const driver::Port *p : ports) names += (names.empty() ? "" : " ") + p->name();
  return names;
}

}  // namespace

TEST_CASE("generator arrays: size, type and rank come by name, elements stand where declared") {
  auto g = make("blend_generator");
  CHECK(names_of(g->inputs()) == "weights_0 weights_1 more_0");
  g->set_generator_param_values(
      {{"images.type", "uint8"}, {"images.size", "3"}, {"images.dim", "2"}});
  g->set_generator_param("parts.size", "3");
  g->set_generator_param("parts.type", "float32");
  CHECK(names_of(g->inputs()) == "images_0 images_1 images_2 weights_0 weights_1 more_0");
  Pipeline p = g->build_pipeline();
  CHECK(names_of(g->outputs()) == "parts_0 parts_1 parts_2 total");
  REQUIRE(p.outputs().size() == 4);
  CHECK(p.outputs()[1].name() == "parts_1");
  const std::vector<Argument> args = p.infer_arguments();
  REQUIRE(args.size() == 6);
  CHECK(args[2].name == "images_2");
  CHECK(args[2].type == UInt(8));
  CHECK(args[5].name == "more_0");
}

TEST_CASE("generator ports: configure() cannot change what was asked for by name") {
  auto g = make("typed_by_itself");
  g->set_generator_param("images.type", "uint8");
  CHECK_DIAG(g->build_pipeline(), "L0501", "it was asked for as u8");
  g = make("typed_by_itself");
  g->set_generator_param("output.type", "uint8");
  CHECK_DIAG(g->build_pipeline(), "L0501", "it was asked for as u8");
  g = make("typed_by_itself");
  g->set_generator_param("images.type", "uint16");  // what configure() says too
  CHECK(g->build_pipeline().infer_arguments()[0].type == UInt(16));
}

TEST_CASE("generator arrays: an open or contradicted size is refused with the remedy") {
  CHECK_DIAG(make("blend_generator")->build_pipeline(), "L0501", "images.size=N");
  auto g = make("blend_generator");
  CHECK_DIAG(g->set_generator_param("images.size", "-1"), "L0502", "a whole number from 0 to 1024");
  CHECK_DIAG(g->set_generator_param("images.size", "1e3"), "L0502",
             "a whole number from 0 to 1024");
  CHECK_DIAG(g->set_generator_param("more.size", "2"), "L0502", "it is 1 already");
  CHECK_DIAG(g->set_generator_param("more.type", "int8"), "L0502", "it is declared as f32");
  CHECK_DIAG(g->set_generator_param("total.dim", "3"), "L0502", "it is declared as 2");
  g->set_generator_param("total.type", "float32");  // what it is anyway
}

TEST_CASE("generator parameters: every kind refuses what it cannot hold, and says what it takes") {
  auto g = make("box_generator");
  CHECK_DIAG(g->set_generator_param("type", "uint9"), "L0502",
             "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64");
  CHECK_DIAG(g->set_generator_param("type", "float32x4"), "L0502", "it takes a type");
  CHECK_DIAG(g->set_generator_param("input.type", "uint9"), "L0502", "it takes a type: bool, int8");
  CHECK_DIAG(g->set_generator_param("radius", "9"), "L0502", "a whole number from 0 to 8");
  CHECK_DIAG(g->set_generator_param("radius", "2.5"), "L0502", "a whole number from 0 to 8");
  CHECK_DIAG(g->set_generator_param("small", "128"), "L0502", "a whole number from -128 to 127");
  CHECK_DIAG(g->set_generator_param("gain", "nan"), "L0502", "a number from 0 to 4");
  CHECK_DIAG(g->set_generator_param("level", "output"), "L0502", "root or inlined");
  CHECK_DIAG(g->set_generator_param("autoscheduler", "Mullapudi2016"), "L0901", "no autoscheduler");
  g->set_generator_param("level", "inlined");
  g->set_generator_param("note", "any text = this");
  for (const auto &[name, value] : g->parameter_values()) {
    if (name == "level") CHECK(value == "inlined");
    if (name == "note") CHECK(value == "any text = this");
    if (name == "type") CHECK(value == "u16");
    CHECK(name != "target");
  }
}

TEST_CASE("generator apply: another generator's outputs become Funcs of this one") {
  auto g = make("outer_generator");
  Pipeline p = g->build_pipeline();
  Buffer<uint8_t> in(20);
  in.for_each_element([&](int i) { in(i) = static_cast<uint8_t>(i); });
  ImageParam image = static_cast<Outer &>(*g).input;
  image.set(in);
  Buffer<float> out(10);
  out.set_min(4);
  p.realize(out);
  // box: 10 + 5 i + extent; then half of it and the ramp twice
  for (int i = 4; i < 14; i++) CHECK(out(i) == doctest::Approx((10 + 5 * i + 20) * 0.5 + 2 * i));
}

TEST_CASE("generator apply: Funcs, Buffers and numbers are bound; what does not fit is refused") {
  const GeneratorContext context(get_host_target());
  Var x("x");
  Func f("f");
  f(x) = x;
  Buffer<uint8_t> image(6);
  image.fill(7);
  auto box = context.apply<Box>(image, 1);
  Buffer<int> out(2);
  out.set_min(2);
  static_cast<Func &>(box->output).realize(out);
  CHECK(out(2) == 3 * 7 + 1 + 6);
  CHECK_DIAG(context.apply<Box>(f, 1), "L0501", "the size of the input input is not known");
  CHECK_DIAG(context.apply<Box>(image), "L0501", "the generator has 2 inputs");
  CHECK_DIAG(context.apply<Box>(1, 1), "L0501", "is given a number");
  CHECK_DIAG(context.apply<Box>(image, 1.5f), "L0501", "it takes i32");
  Func wide("wide");
  wide(x) = cast<int64_t>(x);
  CHECK_DIAG(context.apply<Twice>(wide, std::vector<Func>{f}, 1.0f), "L0501", "declared as i32");
  CHECK_DIAG(context.apply<Twice>(std::vector<Func>{f, f}, std::vector<Func>{f}, 1.0f), "L0501",
             "it is no array");
}

TEST_CASE("generator configure: adds inputs and outputs") {
  auto plain = make("configured_generator");
  CHECK(plain->build_pipeline().infer_arguments().size() == 1);
  auto g = make("configured_generator");
  g->set_generator_param("extra", "2");
  Pipeline p = g->build_pipeline();
  CHECK(names_of(g->inputs()) == "input more_0 more_1");
  CHECK(names_of(g->outputs()) == "output sum");
  CHECK(p.infer_arguments().size() == 3);
}

TEST_CASE("generator members: names are C identifiers and differ") {
  CHECK_DIAG(make("same_name_generator"), "L0501", "a is declared twice");
  CHECK_DIAG(make("bad_name_generator"), "L0501", "\"two words\" is no name");
}

TEST_CASE("generator schedule: a file or a folder by target, as a parameter") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("calo_gen." + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "any.sched")
      << "calotype 1\npipeline configured_generator\ntarget any\noutput.vectorize(x, 8)\n";
  auto g = make("configured_generator");
  g->set_generator_param("schedule", (folder / "any.sched").string());
  CHECK(g->build_pipeline().schedule_text().find("output.vectorize(x, 8)") != std::string::npos);
  g = make("configured_generator");
  g->set_generator_param("schedule", folder.string());
  CHECK(g->build_pipeline().schedule_text().find("output.vectorize(x, 8)") != std::string::npos);
  g = make("configured_generator");
  g->set_generator_param("schedule", (folder / "none.sched").string());
  CHECK_DIAG(g->build_pipeline(), "S0005", "none.sched");
  fs::remove_all(folder);
}
