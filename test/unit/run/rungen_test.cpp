// RunGenMain.cpp of the SDK with a pipeline written by hand: options, output lines, exit codes.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/image.h"
#include "support/skip.h"

namespace fs = std::filesystem;

namespace {

// Doubles its input; fails on a negative gain. With the hooks that the runtime of a library has.
const char kPipeline[] = R"(
#include "HalideRuntime.h"
#include <cstdlib>
extern "C" void halide_register_argv_and_metadata(int (*)(void **), const halide_filter_metadata_t *,
                                                  const char *const *);
static halide_error_handler_t on_error;
static halide_malloc_t take;
static halide_free_t give;
extern "C" {
halide_error_handler_t halide_set_error_handler(halide_error_handler_t f) { on_error = f; return nullptr; }
halide_malloc_t halide_set_custom_malloc(halide_malloc_t f) { take = f; return nullptr; }
halide_free_t halide_set_custom_free(halide_free_t f) { give = f; return nullptr; }
int halide_set_num_threads(int n) { return n; }
}
static int twice(void **argv) {
  auto *in = (halide_buffer_t *)argv[0], *out = (halide_buffer_t *)argv[2];
  const int gain = *(int *)argv[1];
  if (!in->host || !out->host) {
    for (int d = 0; d < 2; d++) in->dim[d] = out->dim[d];
    return 0;
  }
  if (gain < 0) return on_error(nullptr, "twice: error[R0103]: gain is negative\n"), -1;
  if (take) give(nullptr, take(nullptr, 1000));
  for (int y = 0; y < out->dim[1].extent; y++)
    for (int x = 0; x < out->dim[0].extent; x++)
      out->host[x * out->dim[0].stride + y * out->dim[1].stride] =
          (uint8_t)(gain * in->host[x * in->dim[0].stride + y * in->dim[1].stride]);
  return 0;
}
static halide_scalar_value_t two() { halide_scalar_value_t v; v.u.i32 = 2; return v; }
static const halide_scalar_value_t kTwo = two();
static const int64_t kZero = 0, kSide = 32;
static const int64_t *const kEstimates[] = {&kZero, &kSide, &kZero, &kSide};
static const halide_filter_argument_t kArgs[] = {
    {"input", halide_argument_kind_input_buffer, 2, {halide_type_uint, 8}, nullptr, nullptr, nullptr, nullptr, kEstimates},
    {"gain", halide_argument_kind_input_scalar, 0, {halide_type_int, 32}, &kTwo, nullptr, nullptr, nullptr, nullptr},
    {"output", halide_argument_kind_output_buffer, 2, {halide_type_uint, 8}, nullptr, nullptr, nullptr, nullptr, kEstimates}};
static const halide_filter_metadata_t kMetadata = {1, 3, kArgs, "x86-64-linux", "twice"};
static const bool registered = (halide_register_argv_and_metadata(twice, &kMetadata, nullptr), true);
)";

struct Answer {
  int code;
  std::string text;
};

class Program {
public:
  Program() {
    char name[] = "/tmp/calo_rungen.XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(folder_ / "twice.cpp") << kPipeline;
    built_ =
        run("c++ -std=c++17 -O1 " + (folder_ / "twice.cpp").string() +
            " " CALO_SDK_DIR "/share/tools/RunGenMain.cpp -I" CALO_SDK_DIR
            "/include -L" CALO_SDK_DIR "/lib -lcalotype_rungen -lpng -ljpeg -ltiff -lpthread -o " +
            (folder_ / "twice").string());
  }
  ~Program() { fs::remove_all(folder_); }
  const Answer &built() const { return built_; }
  Answer operator()(const std::string &arguments) const {
    return run((folder_ / "twice").string() + " " + arguments);
  }
  std::string file(const char *name) const { return (folder_ / name).string(); }

private:
  Answer run(const std::string &command) const {
    const std::string log = (folder_ / "log").string();
    const int status = std::system((command + " >" + log + " 2>&1").c_str());
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, text.str()};
  }
  fs::path folder_;
  Answer built_;
};

#define CHECK_CONTAINS(answer, part) \
  CHECK_MESSAGE((answer).text.find(part) != std::string::npos, (answer).text)

}  // namespace

TEST_CASE("rungen: a linked pipeline runs from the command line on files") {
  if (!fs::exists(CALO_SDK_DIR "/lib/libcalotype_rungen.a")) CALO_SKIP("the SDK is not built");
  const Program twice;
  REQUIRE_MESSAGE(twice.built().code == 0, twice.built().text);

  CHECK_CONTAINS(twice("--describe"), "  gain: input, scalar int32, default 2\n");
  CHECK(twice("--help").code == 0);
  CHECK(twice("").code == 2);

  const std::string in = twice.file("in.pgm"), out = twice.file("out.npy");
  std::ofstream(in) << "P2\n3 1\n255\n1 2 3\n";
  REQUIRE(twice("input=" + in + " output=" + out).code == 0);
  const calotype::io::Array a = calotype::io::load(out);
  CHECK(a.extents == std::vector<int>{3, 1});
  CHECK(a.data == std::vector<uint8_t>{2, 4, 6});

  const Answer bench = twice(
      "--estimate_all --benchmarks=all --benchmark_min_time=0.01 --parsable_output --track_memory");
  CHECK(bench.code == 0);
  CHECK_CONTAINS(bench, "twice BEST_TIME_MSEC_PER_ITER ");
  CHECK_CONTAINS(bench, "twice THROUGHPUT_MPIX_PER_SEC ");
  CHECK_CONTAINS(bench, "twice MAX_MEMORY_BYTES 1000\n");
  CHECK(twice("--default_input_buffers --default_input_scalars --output_extents=[4,4] --quiet")
            .text.empty());

  const Answer failed = twice("input=zero:[4,4] gain=-1");
  CHECK(failed.code == 1);
  CHECK(failed.text == "twice: error[R0103]: gain is negative\n");
  const Answer missing = twice("gain=1");
  CHECK(missing.code == 1);
  CHECK_CONTAINS(missing, "error[L0401]: input input was not given");
  for (const char *bad : {"--no_such_option", "--benchmarks=some", "--benchmark_min_time=0",
                          "input", "gain=1 gain=2", "--name=thrice --describe"}) {
    const Answer b = twice(bad);
    CHECK_MESSAGE(b.code == 2, bad << ": " << b.text);
  }
}
