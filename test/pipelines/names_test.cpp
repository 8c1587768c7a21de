// The names that Halide programs use most, each used as such programs use them: this file compiles unmodified beside
// compat/Halide.h, and what it runs gives what those programs expect. What is not there yet is refused by name.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "compat/Halide.h"
#include "support/check_diag.h"

using namespace Halide;
using namespace Halide::ConciseCasts;

namespace {

Var x("x"), y("y"), c("c"), xo("xo"), yo("yo"), xi("xi"), yi("yi");

/// Compiled, never run: directives of devices and of what is not there yet.
template <typename F> void only_compiles(const F &) {}

}  // namespace

TEST_CASE("names: Func, Var, Expr, FuncRef and their operators") {
  Func f("f"), g, h{"h"};
  Expr e = x + y * 2 - 1, q;
  q = e / 3 % 5;
  e += 1;
  e -= x;
  e *= 2;
  e /= 2;
  f(x, y) = e + q;
  f(x, y) += 1;
  f(x, y) -= 1;
  f(x, y) *= 2;
  g(x, y) = f(x, y);
  h(x, y) = select((x < y && !(x > 3)) || x == y, 1, x != y, 2, x <= y, 3, x >= y, 4, 5);
  FuncRef r = h(x, y);
  Func t("t");
  t(x, y) = Tuple(r, Expr(r) * 2);
  FuncTupleElementRef second = t(x, y)[1];
  Func u("u");
  u(_) = t(_)[0] + 0 * g(_);
  CHECK(Buffer<int>(u.realize({3, 3}))(0, 1) == 1);
  CHECK(Expr(second).type() == Int(32));
  Func v("v");
  v(x, y) = t(x, y)[0] + t(x, y)[1] + 0 * g(x, y);
  const Buffer<int> b = v.realize({4, 4});
  CHECK(b(0, 1) == 3);
  CHECK(f.num_update_definitions() == 3);
  CHECK(f.name() == "f");
  CHECK(f.args().size() == 2);
  CHECK(f.function().defined());
  CHECK(e.type() == Int(32));
  std::ostringstream text;
  text << e << f.type() << MemoryType::Heap << TailStrategy::RoundUp;
  CHECK(!text.str().empty());
  Func assigned;
  assigned = v;
  CHECK(assigned.same_as(v));
}

TEST_CASE("names: bits, shifts, casts, intrinsics") {
  Func f("f");
  const Expr a = cast<uint8_t>(x * 37), b = u8(y * 11 + 3);
  std::vector<Expr> es = {i32(a & b),
                          i32(a | b),
                          i32(a ^ b),
                          i32(~a),
                          i32(a << 1),
                          i32(a >> 2),
                          i32(absd(a, b)),
                          abs(i32(a) - i32(b)),
                          i32(u8_sat(i32(a) + 200)),
                          i32(i8_sat(a)),
                          i32(u16_sat(i32(a) * 999)),
                          i32(i16_sat(a)),
                          i32(u32_sat(i64(a))),
                          i32_sat(i64(a)),
                          i32(u16(a)),
                          i32(i16(a)),
                          i32(u32(a)),
                          i32(u64(a)),
                          i32(i8(a)),
                          i32(f32(a)),
                          i32(f64(a)),
                          i32(saturating_add(a, b)),
                          i32(saturating_sub(a, b)),
                          i32(halving_add(a, b)),
                          i32(halving_sub(a, b)),
                          i32(rounding_halving_add(a, b)),
                          i32(rounding_shift_right(a, 2)),
                          i32(rounding_mul_shift_right(i16(a), i16(b), 4)),
                          i32(widening_add(a, b)),
                          i32(widening_sub(a, b)),
                          i32(widening_mul(a, b)),
                          i32(popcount(a)),
                          i32(count_leading_zeros(a)),
                          i32(count_trailing_zeros(a)),
                          i32(saturating_cast<int8_t>(a)),
                          i32(reinterpret<int8_t>(a)),
                          clamp(i32(a), 3, 99),
                          min(i32(a), 9),
                          max(i32(b), 9),
                          i32(lerp(a, b, cast<uint8_t>(128))),
                          mux(x % 2, {Expr(3), Expr(4)}),
                          i32(select(a < b, a, b)),
                          likely(x),
                          strict_float(i32(a)),
                          random_int() * 0,
                          i32(random_uint()) * 0,
                          i32(random_float()) * 0,
                          i32(cast(Bool(), a))};
  Expr all = 0;
  for (const Expr &e : es) all += e;
  f(x, y) = all;
  const Buffer<int> r = f.realize({3, 3});
  CHECK(r.defined());
  const Expr v = f32(x) / 10;
  std::vector<Expr> fs = {sin(v),
                          cos(v),
                          tan(v),
                          asin(v),
                          acos(v),
                          atan(v),
                          atan2(v, 1.0f),
                          sinh(v),
                          cosh(v),
                          tanh(v),
                          asinh(v),
                          acosh(v + 1),
                          atanh(v),
                          exp(v),
                          log(v + 1),
                          pow(v, 2.5f),
                          sqrt(v),
                          floor(v),
                          ceil(v),
                          round(v),
                          trunc(v),
                          fast_inverse(v + 1),
                          fast_inverse_sqrt(v + 1),
                          fast_pow(v + 1, 2.0f),
                          select(is_nan(v) || is_inf(v) || !is_finite(v), 1.0f, 0.0f)};
  Expr sum_all = 0.0f;
  for (const Expr &e : fs) sum_all += e;
  CHECK(evaluate<float>(cast<float>(3) + 1) == 4.0f);
  CHECK(evaluate_may_gpu<int>(Expr(3) * 4) == 12);
  Func g("g");
  g(x) = sum_all;
  const Buffer<float> gr = g.realize({5});
  CHECK(gr(3) == gr(3));
  Func un("un");
  un(x) = undef<int>();
  un(x) = x;
  CHECK(Buffer<int>(un.realize({3}))(2) == 2);
}

TEST_CASE("names: reductions, RDom, lambda, Tuple, boundary conditions") {
  Buffer<uint8_t> b(8, 6);
  b.fill(3);
  b(5, 4) = 9;
  RDom r(b), s(0, 4, 0, 3, 0, 2), w(0, 10);
  r.where(r.x != r.y);
  RVar first = r.x, other("other");
  RVar only = w;
  const Expr as_expr = w;
  Func total("total"), best("best");
  total() = sum(i32(b(s.x, s.y) * u8(s.z + 1)));
  best() = maximum(b(s[0], s[1])) + minimum(b(s.x, s.y)) +
           cast<uint8_t>(product(i32(b(s.x, 0)) * 0 + 1));
  CHECK(Buffer<int>(total.realize())() == 108);
  Tuple where = argmin(i32(b(s.x, s.y)));
  Func low("low");
  low() = Tuple(where[0], where[1], where[2], where[3]);
  const Realization low_r = low.realize();
  CHECK(low_r.size() == 4);
  Func table = lambda(x, x * x);
  CHECK(Buffer<int>(table.realize({5}))(4) == 16);
  RDom copied = s;
  copied = w;
  (void)first, (void)other, (void)only, (void)as_expr;
  for (const Func &edge :
       {BoundaryConditions::repeat_edge(b), BoundaryConditions::constant_exterior(b, 0),
        BoundaryConditions::mirror_image(b), BoundaryConditions::mirror_interior(b),
        BoundaryConditions::repeat_image(b)}) {
    Func at("at");
    at(x, y) = edge(x - 3, y + 5);
    CHECK(Buffer<uint8_t>(at.realize({4, 4})).width() == 4);
  }
  Func implicit("implicit");
  implicit(_0, _1) = _0 + _1 * 2;
  Func three("three");
  three(_0, _1, _2) = _0 + _1 + _2;
  CHECK(Buffer<int>(implicit.realize({3, 3}))(2, 1) == 4);
  const Var implicit_var = ImplicitVar<3>();
  const Expr implicit_expr = ImplicitVar<1>();
  CHECK(implicit_expr.defined());
  CHECK(implicit_var.name() == "_3");
}

TEST_CASE("names: loops and storage directives") {
  Func p("p"), f("f");
  p(x, y) = x + y;
  f(x, y) = p(x, y) + p(x, y + 1);
  f(x, y) += 2;
  f.tile(x, y, xo, yo, xi, yi, 8, 4, TailStrategy::GuardWithIf)
      .vectorize(xi, 4)
      .unroll(yi)
      .parallel(yo)
      .reorder(xi, yi, xo, yo);
  f.update().split(x, xo, xi, 8).vectorize(xi).unroll(y, 2).reorder(xi, xo, y);
  f.update(0).unscheduled();
  p.compute_at(f, xo).store_at(f, yo);
  CHECK(Buffer<int>(f.realize({20, 9}))(3, 4) == 3 + 4 + 3 + 5 + 2);
  Func q("q"), g("g");
  q(x, y) = x - y;
  g(x, y) = q(x, y);
  Var fused("fused");
  g.fuse(x, y, fused).parallel(fused, 4).serial(fused);
  q.compute_root().store_root().reorder_storage(y, x).bound_extent(x, 8).align_bounds(y, 4);
  q.split(x, xo, xi, 4).vectorize(xi);
  q.set_estimate(x, 0, 8).set_estimates({{0, 8}, {0, 8}});
  g.bound(x, 0, 8);
  const Buffer<int> b = g.realize({8, 8});
  CHECK(b(7, 2) == 5);
  Stage stage = g;
  CHECK(!stage.name().empty());
  LoopLevel level(g, x), root = LoopLevel::root(), inlined = LoopLevel::inlined();
  CHECK(root.is_root());
  CHECK(inlined.is_inlined());
  level.set(root);
  g.print_loop_nest();
  for (TailStrategy t : {TailStrategy::Auto, TailStrategy::ShiftInwards, TailStrategy::Predicate,
                         TailStrategy::PredicateLoads, TailStrategy::PredicateStores,
                         TailStrategy::RoundUp, TailStrategy::ShiftInwardsAndBlend,
                         TailStrategy::RoundUpAndBlend, TailStrategy::GuardWithIf})
    CHECK(static_cast<int>(t) >= 0);
  CHECK(Var::outermost().name() != x.name());
  VarOrRVar either(x);
  CHECK(either.name() == "x");
}

TEST_CASE("names: directives that other machines or later versions have compile") {
  only_compiles([] {
    Func f("f"), g("g");
    RDom r(0, 8);
    f.gpu_tile(x, y, xo, yo, xi, yi, 8, 8).gpu_blocks(x).gpu_threads(y).gpu_lanes(xi);
    f.gpu_single_thread().hexagon().copy_to_device();
    f.update().gpu_tile(x, xi, 8).gpu_blocks(x).gpu_threads(xi, DeviceAPI::CUDA).gpu_lanes(x);
    f.update().hexagon(x);
    f.update().atomic().fuse(x, y, xo).parallel(xo).allow_race_conditions().tile(x, y, xi, yi, 4,
                                                                                 4);
    f.update().rfactor(r.x, y);
    f.update().rfactor({{r.x, y}});
    f.update().compute_with(g.update(), x);
    f.update().specialize(x > 3).vectorize(x, 4);
    f.specialize_fail("no");
    f.compute_with(g, x, LoopAlignStrategy::AlignStart);
    f.async().ring_buffer(2).fold_storage(x, 4).align_storage(x, 8).bound_storage(x, 4);
    f.store_in(MemoryType::Stack).hoist_storage(g, x).hoist_storage_root();
    f.prefetch(g, x, x, 2).partition(x, Partition::Always).never_partition_all();
    f.in(g).compute_root();
    f.clone_in(g).compute_root();
    f.in().compute_root();
    f.copy_to_host();
    f.debug_to_file("f.tmp");
    for (MemoryType m : {MemoryType::Heap, MemoryType::Register, MemoryType::GPUShared,
                         MemoryType::VTCM, MemoryType::Auto})
      f.store_in(m);
    const DeviceAPI apis[] = {DeviceAPI::OpenCL, DeviceAPI::Metal, DeviceAPI::Host,
                              DeviceAPI::None};
    (void)apis;
    get_device_interface_for_device_api(DeviceAPI::CUDA);
    Derivative d = propagate_adjoints(f);
    Func df = d(g);
  });
}

TEST_CASE("names: Buffer") {
  Buffer<float> a(4, 3), empty;
  CHECK(!empty.defined());
  a.fill(2.0f);
  a.for_each_element([&](int i, int j) { a(i, j) += static_cast<float>(i * 10 + j); });
  a.for_each_value([](float &v) { v += 1; });
  a.set_min(1, 2);
  CHECK(a.dim(0).min() == 1);
  CHECK(a.dim(1).extent() == 3);
  CHECK(a.min(1) == 2);
  CHECK(a.extent(0) == 4);
  CHECK(a.dimensions() == 2);
  CHECK(a.width() == 4);
  CHECK(a.height() == 3);
  CHECK(a.data()[0] == 3.0f);
  CHECK(a.raw_buffer()->dim[0].extent == 4);
  CHECK(a.get()->dimensions() == 2);
  CHECK(!a.has_device_allocation());
  a.set_host_dirty();
  a.copy_to_host();
  Buffer<float> copy = a.copy(), crop = a.cropped(0, 2, 2), slice, wide = a.embedded(2, 7);
  copy.translate(0, 5);
  CHECK(copy.left() == 6);
  crop.transpose(0, 1);
  CHECK(crop.width() == 3);
  slice = a.sliced(1, 3);
  CHECK(slice.dimensions() == 1);
  CHECK(wide.dimensions() == 3);
  const Buffer<uint8_t> rgb = Buffer<uint8_t>::make_interleaved(6, 5, 3);
  CHECK(rgb.stride(0) == 3);
  CHECK(rgb.channels() == 3);
  Buffer<int> scalar = Buffer<int>::make_scalar();
  scalar() = 5;
  CHECK(scalar.number_of_elements() == 1);
  float memory[6] = {1, 2, 3, 4, 5, 6};
  Buffer<float> view(memory, 3, 2);
  CHECK(view(2, 1) == 6);
  Buffer<> untyped = view;
  CHECK(untyped.type() == Float(32));
  Buffer<float> same = untyped;
  CHECK(same.same_as(view));
  CHECK(view.all_equal(1.0f) == false);
  a = view;
  CHECK(a(0, 0) == 1);
}

TEST_CASE("names: Runtime::Buffer and the C types") {
  Halide::Runtime::Buffer<uint16_t> b(5, 4, 2);
  b.fill(7);
  b.for_each_element([&](int i, int j, int k) { b(i, j, k) = static_cast<uint16_t>(i + j + k); });
  b.for_each_value([](uint16_t &v) { v++; });
  CHECK(b.dim(0).extent() == 5);
  CHECK(b.dim(1).max() == 3);
  CHECK(b.dim(1).min() == 0);
  CHECK(b.dim(2).stride() == 20);
  CHECK(b.width() + b.height() + b.channels() + b.dimensions() == 14);
  auto cropped = b.cropped(0, 1, 3);
  Halide::Runtime::Buffer<uint16_t> other(5, 4, 2);
  other.copy_from(b);
  other = b;
  CHECK(b.raw_buffer()->host == reinterpret_cast<uint8_t *>(b.data()));
  halide_buffer_t *raw = b;
  CHECK(raw->type == halide_type_of<uint16_t>());
  CHECK(raw->dimensions == 3);
  CHECK(raw->dim[1].stride == 5);
  CHECK(!raw->is_bounds_query());
  CHECK(raw->device == 0);
  CHECK(raw->device_interface == nullptr);
  const int at[] = {1, 2, 0};
  CHECK(raw->address_of(at) == reinterpret_cast<uint8_t *>(&b(1, 2, 0)));
  b.copy_to_host();
  b.device_free();
  auto interleaved = Halide::Runtime::Buffer<uint8_t>::make_interleaved(4, 4, 3);
  auto one = Halide::Runtime::Buffer<uint8_t>::make_scalar();
  CHECK(cropped.width() == 3);
  CHECK(interleaved.dim(2).stride() == 1);
  CHECK(one.dimensions() == 0);
  halide_dimension_t d(1, 2, 3);
  CHECK(d.min + d.extent + d.stride == 6);
  const halide_type_t t(halide_type_float, 32);
  CHECK(t.lanes == 1);
  CHECK(halide_type_t(halide_type_uint, 8) == halide_type_of<uint8_t>());
  CHECK(halide_type_bfloat != halide_type_int);
  CHECK(halide_error_code_success == 0);
  const halide_filter_metadata_t *metadata = nullptr;
  const halide_device_interface_t *interface = nullptr;
  (void)metadata, (void)interface;
  only_compiles([] { halide_set_error_handler(nullptr); });
}

TEST_CASE("names: types, targets, errors") {
  const Type t = UInt(16), v = t.with_lanes(8);
  CHECK(t.bits() == 16);
  CHECK(v.lanes() == 8);
  CHECK(t != v);
  CHECK(t.is_uint());
  CHECK(!t.is_int());
  CHECK(!t.is_float());
  CHECK(type_of<float>() == Float(32));
  CHECK(evaluate<uint16_t>(t.max()) == 65535);
  CHECK(evaluate<uint16_t>(t.min()) == 0);
  CHECK(Handle().is_handle());
  Type assigned;
  assigned = t;
  Target target = get_host_target(), jit = get_jit_target_from_environment(),
         env = get_target_from_environment();
  CHECK(Target("x86-64-linux-avx2").has_feature(Target::AVX2));
  CHECK(!target.has_gpu_feature());
  CHECK(target.arch == Target::X86);
  CHECK(target.os == Target::Linux);
  CHECK(target.bits == 64);
  CHECK(target.natural_vector_size<float>() >= 4);
  CHECK(target.natural_vector_size(UInt(8)) >= 16);
  CHECK(target.with_feature(Target::Debug).without_feature(Target::Debug) == target);
  CHECK(target.supports_type(Float(32)));
  target.set_feature(Target::StrictFloat);
  CHECK(target.features_any_of({Target::StrictFloat, Target::CUDA}));
  CHECK(!target.to_string().empty());
  for (Target::Feature f :
       {Target::HVX, Target::HVX_v65, Target::HVX_v66, Target::HVX_v68, Target::OpenCL,
        Target::Metal, Target::Vulkan, Target::WebGPU, Target::D3D12Compute, Target::Profile,
        Target::LargeBuffers, Target::NoBoundsQuery, Target::CPlusPlusMangling, Target::SSE41,
        Target::AVX, Target::AVX512_Skylake})
    CHECK(!Target("x86-64-linux").has_feature(f));
  for (Target::Arch a : {Target::ARM, Target::Hexagon, Target::WebAssembly})
    CHECK(a != Target::X86);
  for (Target::OS o : {Target::OSX, Target::IOS, Target::Windows}) CHECK(o != Target::Linux);
  try {
    Func undefined("undefined"), f("f");
    f(x) = undefined(x);
    FAIL("no error");
  } catch (const CompileError &e) {
    CHECK(std::string(e.what()).find("undefined") != std::string::npos);
  }
  only_compiles([] {
    try {
    } catch (const InternalError &) {
    } catch (const Halide::RuntimeError &) {
    } catch (const Halide::Error &) {
    }
  });
#ifndef HALIDE_WITH_EXCEPTIONS
#error "exceptions are how errors arrive"
#endif
#if HALIDE_INTERNAL_USING_ASAN
  MESSAGE("address sanitizer");
#endif
  const float16_t h(1.5f);
  CHECK(h.to_bits() == 0x3e00);
  CHECK(static_cast<double>(h) == 1.5);
  CHECK(float16_t::make_nan().is_nan());
  CHECK(static_cast<float>(float16_t::make_infinity()) > 1e30f);
  CHECK(static_cast<float>(float16_t::make_negative_infinity()) < -1e30f);
  CHECK(static_cast<float>(bfloat16_t(2.0f)) == 2.0f);
  (void)jit, (void)env, (void)assigned;
}

TEST_CASE("names: parameters, pipelines, realizations") {
  ImageParam in(UInt(8), 2), named(Float(32), 3, "named");
  Param<int> k("k", 3);
  Param<float> bounded("bounded", 0.5f, 0.0f, 1.0f);
  k.set(4);
  k.set_range(0, 10);
  CHECK(k.get() == 4);
  in.dim(0).set_stride(1).set_min(0);
  in.set_host_alignment(1);
  Func f("f"), g("g");
  f(x, y) = in(x, y) + cast<uint8_t>(k);
  g(x) = cast<float>(x) * bounded;
  Func as_func = in;
  OutputImageParam out = f.output_buffer();
  out.dim(0).set_stride(1);
  CHECK(out.width().defined());
  CHECK(out.height().defined());
  Buffer<uint8_t> image(7, 5);
  image.fill(1);
  in.set(image);
  CHECK(in.get().width() == 7);
  Pipeline p({f, g});
  Buffer<uint8_t> fb(7, 5);
  Buffer<float> gb(11);
  p.realize({fb, gb});
  CHECK(fb(6, 4) == 5);
  CHECK(gb(10) == 5.0f);
  Realization r({fb, gb});
  p.realize(r);
  CHECK(r.size() == 2);
  Buffer<float> again = r[1];
  CHECK(again(2) == 1.0f);
  Pipeline single(f);
  single.compile_jit();
  fb = single.realize({7, 5});
  const std::vector<Argument> args = single.infer_arguments();
  CHECK(args.size() == 2);
  CHECK(args[0].name == in.name());
  in.reset();
  f.infer_input_bounds({6, 4});
  CHECK(in.get().height() == 4);
  JITUserContext context;
  context.handlers.custom_error = [](JITUserContext *, const char *) {};
  f.realize(&context, {6, 4});
  JITHandlers handlers;
  handlers.custom_print = nullptr;
  f.jit_handlers().custom_malloc = nullptr;
  f.jit_handlers().custom_free = nullptr;
  p.jit_handlers().custom_trace = nullptr;
  const Pipeline::RealizationArg arg(fb);
  CHECK(arg.raw.size() == 1);
  (void)named, (void)as_func;
  only_compiles([&] {
    std::map<OutputFileType, std::string> files{{OutputFileType::object, "o"},
                                                {OutputFileType::assembly, "s"},
                                                {OutputFileType::c_header, "h"}};
    f.compile_to(files, {in, k}, "f");
    f.compile_to_object("f.o", {in}, "f");
    Module m = f.compile_to_module({in}, "f");
    m.functions();
    Callable callable = f.compile_to_callable({in, k});
    callable(image.raw_buffer(), 3, fb.raw_buffer());
    auto function = callable.make_std_function<Buffer<uint8_t>, int, Buffer<uint8_t>>();
    (void)function;
    p.apply_autoscheduler(get_host_target(),
                          AutoschedulerParams("Adams2019", {{"parallelism", "8"}}));
    struct Pass {};
    f.add_custom_lowering_pass(new Pass);
  });
}

TEST_CASE("names: custom lowering passes are refused by name") {
  struct Pass {};
  Func f("f");
  f(x) = x;
  CHECK_DIAG(f.add_custom_lowering_pass(new Pass), "L0901", "add_custom_lowering_pass");
  CHECK_DIAG(Pipeline(f).add_custom_lowering_pass(new Pass), "L0901", "add_custom_lowering_pass");
}

namespace {
class Brighten : public Halide::Generator<Brighten> {
public:
  GeneratorParam<int> offset{"offset", 5};
  GeneratorParam<Type> type{"type", UInt(8)};
  Input<Buffer<uint8_t>> input{"input", 2};
  Input<float> scale{"scale", 1.0f};
  Output<Buffer<uint8_t>> output{"output", 2};
  void generate() {
    Func f("f");
    f(x, y) = cast<uint8_t>(input(x, y) * scale + static_cast<int>(offset));
    output(x, y) = f(x, y);
  }
  void schedule() {}
};
}  // namespace
HALIDE_REGISTER_GENERATOR(Brighten, brighten_names)

TEST_CASE("names: generators") {
  const GeneratorContext context(get_host_target());
  const auto g = Brighten::create(context);
  REQUIRE(g != nullptr);
  Buffer<uint8_t> b(4, 4);
  b.fill(3);
  const GeneratorParamsMap params;
  (void)params;
  Func image("image");
  image(x, y) = b(x, y);
  g->apply(b, 2.0f);
  Func output = g->output;
  const Buffer<uint8_t> r = output.realize({4, 4});
  CHECK(r(1, 1) == 11);
}
