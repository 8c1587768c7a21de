// Target strings, implied features, vector widths, this machine.
#include "base/target.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"

using namespace calotype;

namespace {
std::string message_of(const std::string &text) {
  try {
    Target t(text);
  } catch (const CompileError &e) {
    CHECK(e.diagnostic().code == "T0101");
    return e.what();
  }
  return "";
}
bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
}  // namespace

TEST_CASE("target: features come in any order and print sorted") {
  Target t("x86-64-linux-fma-avx2");
  CHECK(t.arch == Target::X86);
  CHECK(t.bits == 64);
  CHECK(t.os == Target::Linux);
  CHECK(t.has_feature(Target::AVX2));
  CHECK(t.to_string() == "x86-64-linux-avx2-fma");
  CHECK(t == Target("avx2-fma-linux-64-x86"));
}

TEST_CASE("target: avx512_skylake brings everything below it, avx2 does not bring fma") {
  Target t("x86-64-linux-avx512_skylake");
  CHECK(t.features_all_of(
      {Target::AVX512, Target::AVX2, Target::AVX, Target::SSE41, Target::FMA, Target::F16C}));
  CHECK(t.to_string() == "x86-64-linux-avx512_skylake");
  Target u("x86-64-linux-avx2");
  CHECK(u.has_feature(Target::AVX));
  CHECK(!u.has_feature(Target::FMA));
  CHECK(!u.fuses_multiply_add());
  CHECK(t.fuses_multiply_add());
}

TEST_CASE("target: a feature taken away takes along what needs it") {
  Target t = Target("x86-64-linux-avx512_skylake").without_feature(Target::FMA);
  CHECK(!t.has_feature(Target::AVX512));
  CHECK(t.has_feature(Target::AVX2));
  CHECK(Target(t.to_string()) == t);
}

TEST_CASE("target: every feature alone prints and reads back") {
  for (int i = 0; i < Target::FeatureEnd; i++) {
    Target t(Target::Linux, Target::X86, 64, {static_cast<Target::Feature>(i)});
    CHECK(Target(t.to_string()) == t);
  }
}

TEST_CASE("target: host takes further features") {
  Target t("host-no_asserts-debug");
  CHECK(t == get_host_target().with_feature(Target::NoAsserts).with_feature(Target::Debug));
  CHECK(Target(get_host_target().to_string()) == get_host_target());
}

TEST_CASE("target: bad strings say what is wrong and what is near") {
  CHECK(contains(message_of("x86-64-linux-avx3"), "'avx3' is not known"));
  CHECK(contains(message_of("x86-64-linux-avx3"), "did you mean avx"));
  CHECK(contains(message_of("x87-64-linux"), "did you mean x86"));
  CHECK(contains(message_of("x86-arm-64-linux"), "two architectures"));
  CHECK(contains(message_of("x86-64"), "names no operating system"));
  CHECK(contains(message_of("64-linux"), "names no architecture"));
  CHECK(contains(message_of("x86-linux"), "32 or 64 bits"));
  CHECK(contains(message_of("x86-64-linux--avx"), "empty part"));
  CHECK(contains(message_of(""), "empty part"));
  CHECK(contains(message_of("x86-64-linux-vector_bits_7"), "not known"));
  CHECK(!Target::validate_target_string("nonsense"));
  CHECK(Target::validate_target_string("arm-64-osx"));
}

TEST_CASE("target: natural vector sizes") {
  Target sse("x86-64-linux"), avx("x86-64-linux-avx"), avx2("x86-64-linux-avx2"),
      skx("x86-64-linux-avx512_skylake");
  CHECK(sse.natural_vector_size<uint8_t>() == 16);
  CHECK(avx.natural_vector_size<float>() == 8);
  CHECK(avx.natural_vector_size<int>() == 4);
  CHECK(avx2.natural_vector_size<uint16_t>() == 16);
  CHECK(avx2.natural_vector_size<double>() == 4);
  CHECK(skx.natural_vector_size<uint8_t>() == 64);
  CHECK(Target("x86-64-linux-avx512").natural_vector_size<uint8_t>() == 32);
  CHECK(Target("x86-64-linux-avx512").natural_vector_size<float>() == 16);
  CHECK(Target("wasm-32-wasmrt").natural_vector_size<int64_t>() == 1);
  CHECK(Target("x86-64-linux-vector_bits_1024").natural_vector_size<float>() == 32);
}

TEST_CASE("target: code is for features that have a meaning, the others are named") {
  CHECK(why_not_compilable(Target("x86-64-linux-avx512_zen4-debug-user_context")) == "");
  CHECK(contains(why_not_compilable(Target("arm-64-linux")), "x86-64-linux"));
  for (const char *feature : {"profile", "asan", "c_plus_plus_name_mangling", "cuda", "no_asserts",
                              "no_bounds_query", "fast", "fuzz_float_stores"}) {
    CAPTURE(feature);
    CHECK(contains(why_not_compilable(Target(std::string("x86-64-linux-") + feature)), feature));
  }
}

TEST_CASE("target: this machine runs its own code and not another's") {
  CHECK(!get_host_target().has_unknowns());
  CHECK(why_not_runnable_here(get_host_target()) == "");
  CHECK(why_not_runnable_here(Target("host-no_asserts")) == "");
  CHECK(contains(why_not_runnable_here(Target("hexagon-32-qurt")), "not hexagon-32-qurt"));
  Target host = get_host_target();
  if (host.arch == Target::X86) {
    CHECK(contains(
        why_not_runnable_here(host.with_feature(Target::FMA4).with_feature(Target::AVX10_1)),
        "avx10_1"));
  }
}
