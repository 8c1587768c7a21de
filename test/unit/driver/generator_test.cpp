// Generators: members, parameters, building, the registry.
#include "driver/generator.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "calotype.h"
#include "support/check_diag.h"

namespace {

enum class Mode { Plain, Doubled };

class Scale : public calotype::Generator<Scale> {
public:
  GeneratorParam<int> factor{"factor", 2, 1, 10};
  GeneratorParam<bool> shift{"shift", false};
  GeneratorParam<Mode> mode{
      "mode", Mode::Plain, {{"plain", Mode::Plain}, {"doubled", Mode::Doubled}}};
  GeneratorParam<Type> type{"type", UInt(8)};
  Input<Buffer<>> input{"input", 1};
  Input<int> offset{"offset", 1, 0, 100};
  Output<Buffer<>> output{"output", 1};

  void configure() {
    input.set_type(type);
    output.set_type(type);
  }
  void generate() {
    Expr e = cast(type, input(x) * factor + offset);
    if (shift) e = e + 1;
    if (mode == Mode::Doubled) e = e * 2;
    output(x) = e;
  }
  void schedule() {
    scheduled = true;
    output.vectorize(x, 4);
  }
  bool scheduled = false;

private:
  Var x{"x"};
};

class Assigned : public calotype::Generator<Assigned> {
public:
  Input<Buffer<float, 2>> a{"a"};
  Input<Func> b{"b", Float(32), 2};
  Input<Buffer<float, 2>[2]> more{"more"};
  Output<Buffer<float, 2>> sum{"sum"};
  Output<Func> copy{"copy", Float(32), 2};
  Output<float> total{"total"};
  void generate() {
    Var x("x"), y("y");
    Func result("result");
    result(x, y) = a(x, y) + b(x, y) + more[0](x, y) * more[1](x, y);
    sum = result;
    copy = result;
    total() = 1.0f;
  }
};

class Forgetful : public calotype::Generator<Forgetful> {
public:
  Output<Buffer<int, 1>> output{"output"};
  void generate() {}
};

class WrongType : public calotype::Generator<WrongType> {
public:
  Output<Buffer<int, 1>> output{"output"};
  void generate() {
    Func f;
    Var x;
    f(x) = 1.5f;
    output = f;
  }
};

class Open : public calotype::Generator<Open> {
public:
  Input<Buffer<>> input{"input"};
  Output<Buffer<>> output{"output"};
  void generate() { output(calotype::_) = input(calotype::_); }
};

HALIDE_REGISTER_GENERATOR(Scale, scale_generator)
HALIDE_REGISTER_GENERATOR(Assigned, assigned_generator, stub::Assigned)
HALIDE_REGISTER_GENERATOR(Forgetful, forgetful_generator)
HALIDE_REGISTER_GENERATOR(WrongType, wrong_type_generator)
HALIDE_REGISTER_GENERATOR(Open, open_generator)
HALIDE_REGISTER_GENERATOR_ALIAS(scale_by_three, scale_generator, {{"factor", "3"}})

using namespace calotype;

std::unique_ptr<GeneratorBase> make(const char *name) {
  return driver::create_generator(name, GeneratorContext(get_host_target()));
}
}  // namespace

TEST_CASE("generator: registered ones are found by name") {
  const std::vector<std::string> names = driver::generator_names();
  CHECK(std::find(names.begin(), names.end(), "scale_generator") != names.end());
  CHECK(std::find(names.begin(), names.end(), "scale_by_three") != names.end());
  CHECK_DIAG(make("scale_generatr"), "L0501", "there is scale_generator");
}

TEST_CASE("generator: builds a Pipeline that runs") {
  auto g = make("scale_generator");
  g->set_generator_param_values(
      {{"factor", "3"}, {"shift", "true"}, {"mode", "doubled"}, {"type", "u16"}});
  Pipeline p = g->build_pipeline();
  CHECK(p.name() == "scale_generator");
  CHECK(static_cast<Scale &>(*g).scheduled);
  const std::vector<Argument> args = p.infer_arguments();
  REQUIRE(args.size() == 2);
  CHECK(args[0].name == "input");
  CHECK(args[0].type == UInt(16));
  CHECK(args[1].name == "offset");
  Buffer<uint16_t> in(7), out(7);
  in.for_each_element([&](int i) { in(i) = static_cast<uint16_t>(i * 100); });
  static_cast<Scale &>(*g).input.image();
  ImageParam image = static_cast<Scale &>(*g).input;
  image.set(in);
  p.realize(out);
  for (int i = 0; i < 7; i++) CHECK(out(i) == (i * 300 + 1 + 1) * 2);
}

TEST_CASE("generator: presets of an alias") {
  auto g = make("scale_by_three");
  CHECK(static_cast<Scale &>(*g).factor.value() == 3);
  CHECK(g->registered_name() == "scale_by_three");
}

TEST_CASE("generator: wrong parameters are refused with what would do") {
  auto g = make("scale_generator");
  CHECK_DIAG(g->set_generator_param("facter", "3"), "L0502", "it has factor");
  CHECK_DIAG(g->set_generator_param("factor", "three"), "L0502", "it takes a whole number");
  CHECK_DIAG(g->set_generator_param("factor", "11"), "L0502", "a whole number from 1 to 10");
  CHECK_DIAG(g->set_generator_param("mode", "triple"), "L0502", "names: plain, doubled");
  CHECK_DIAG(g->set_generator_param("type", "u9000"), "L0502", "type cannot be");
  CHECK_DIAG(g->set_generator_param("shift", "yes"), "L0502", "shift cannot be");
  CHECK_DIAG(g->set_generator_param("target", "x86-65-linux"), "T0101", "");
}

TEST_CASE("generator: a Func assigned to outputs takes the first one's name") {
  auto g = make("assigned_generator");
  Pipeline p = g->build_pipeline();
  REQUIRE(p.outputs().size() == 3);
  CHECK(p.outputs()[0].name() == "sum");
  CHECK(p.outputs()[1].name() == "copy");
  const std::vector<Argument> args = p.infer_arguments();
  REQUIRE(args.size() == 4);
  CHECK(args[2].name == "more_0");
  CHECK(args[3].name == "more_1");
}

TEST_CASE("generator: outputs must be defined as declared") {
  CHECK_DIAG(make("forgetful_generator")->build_pipeline(), "L0501",
             "gave the output output no definition");
  CHECK_DIAG(make("wrong_type_generator")->build_pipeline(), "L0501", "defined: f32");
}

TEST_CASE("generator: types and ranks left open are set by name") {
  CHECK_DIAG(make("open_generator")->build_pipeline(), "L0501", "type of input is not known");
  auto g = make("open_generator");
  g->set_generator_param("input.type", "float32");
  g->set_generator_param("input.dim", "2");
  Pipeline p = g->build_pipeline();
  CHECK(p.outputs()[0].type() == Float(32));
  CHECK(p.outputs()[0].dimensions() == 2);
  CHECK_DIAG(g->build_pipeline(), "L0501", "built twice");
}
