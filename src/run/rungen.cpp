// See rungen.h. Linked with a compiled pipeline and its runtime, whose hooks (errors, memory) it uses.
#include "rungen.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

#include "filter.h"
#include "progress.h"

namespace calotype::run {

namespace {

constexpr const char kUsage[] = R"(usage: %s [options] name=value ...

Arguments, by the names of the pipeline (--describe lists them):
  scalars   a number, true, false, default or estimate
  inputs    a file (png, jpg, tiff, pgm, ppm, npy), raw:[extents]:FILE,
            random:SEED:SIZE, zero:SIZE, constant:VALUE:SIZE, identity:SIZE
            SIZE: [w,h,...] with dimension 0 first, auto (what the outputs need), estimate,
            estimate_then_auto
  outputs   the file to write; without one the result is computed and dropped

Options:
  --describe                     print the arguments, and stop
  --name=NAME                    which pipeline, where several are linked
  --output_extents=[w,h,...]     or estimate; default: those of the first input of the same rank
  --default_input_buffers[=V]    for inputs not given: V as above, default zero:auto
  --default_input_scalars[=V]    for scalars not given: the first that exists of a list, default
                                 estimate,default,0
  --estimate_all                 random inputs, scalars and sizes as estimated
  --benchmarks=all               time it
  --benchmark_min_time=SECONDS   how long at least, default 0.1
  --parsable_output              numbers as NAME KEY VALUE lines
  --track_memory                 the most memory that the pipeline took at one time
  --num_threads=N                threads of the pipeline
  --quiet, --verbose, --help
)";

struct Registered {
  int (*call)(void **);
  const halide_filter_metadata_t *metadata;
};
std::vector<Registered> &registered() {
  static auto *all = new std::vector<Registered>;  // filled before main
  return *all;
}

// ---- hooks of the pipeline's runtime ------------------------------------------------------------

std::mutex error_mutex;
std::string error_text;

void keep_error(void *, const char *message) {
  const std::lock_guard<std::mutex> lock(error_mutex);
  if (error_text.empty()) error_text = message;  // the first is the cause
}

std::string take_error() {
  const std::lock_guard<std::mutex> lock(error_mutex);
  std::string text = std::move(error_text);
  error_text.clear();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::atomic<uint64_t> bytes_now{0}, bytes_most{0};
constexpr size_t kAlign = 128;  // of what a pipeline is given; the size stands before it

void *counting_malloc(void *, size_t bytes) {
  auto *block =
      static_cast<char *>(std::aligned_alloc(kAlign, (bytes + 2 * kAlign - 1) / kAlign * kAlign));
  if (!block) return nullptr;
  std::memcpy(block, &bytes, sizeof bytes);
  const uint64_t now = bytes_now += bytes;
  uint64_t most = bytes_most;
  while (now > most && !bytes_most.compare_exchange_weak(most, now)) {
  }
  return block + kAlign;
}

void counting_free(void *, void *p) {
  if (!p) return;
  char *block = static_cast<char *>(p) - kAlign;
  size_t bytes = 0;
  std::memcpy(&bytes, block, sizeof bytes);
  bytes_now -= bytes;
  std::free(block);
}

// ---- the command line ---------------------------------------------------------------------------

struct Request {
  Options options;
  std::string name;
  bool describe = false, help = false, quiet = false, verbose = false;
  bool benchmark = false, parsable = false, track_memory = false;
  double min_time = 0.1;
  int threads = 0;
};

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool take_flag(const std::string &word, const char *flag, std::string *value) {
  const std::string start = std::string("--") + flag;
  if (word == start) return value->clear(), true;
  if (word.rfind(start + "=", 0) != 0) return false;
  *value = word.substr(start.size() + 1);
  return true;
}

bool plain_flag(const std::string &word, const std::string &value, bool *flag) {
  if (!value.empty() && value != "true" && value != "false")
    throw Usage(word + ": expected true or false");
  *flag = value != "false";
  return true;
}

bool parse_option(const std::string &word, Request &r) {
  std::string v;
  const auto is = [&](const char *flag) { return take_flag(word, flag, &v); };
  if (is("describe")) return plain_flag(word, v, &r.describe);
  if (is("help")) return plain_flag(word, v, &r.help);
  if (is("quiet")) return plain_flag(word, v, &r.quiet);
  if (is("verbose")) return plain_flag(word, v, &r.verbose);
  if (is("parsable_output")) return plain_flag(word, v, &r.parsable);
  if (is("track_memory")) return plain_flag(word, v, &r.track_memory);
  if (is("success")) return true;  // scripts give it; the exit code says it
  if (is("name")) return r.name = v, true;
  if (is("output_extents")) return r.options.output_extents = v, true;
  if (is("default_input_buffers"))
    return r.options.default_buffers = v.empty() ? "zero:auto" : v, true;
  if (is("default_input_scalars"))
    return r.options.default_scalars = v.empty() ? "estimate,default,0" : v, true;
  if (is("estimate_all")) {
    r.options.default_buffers = "random:0:estimate_then_auto";
    r.options.default_scalars = "estimate,default";
    r.options.output_extents = "estimate";
    return true;
  }
  if (is("benchmarks")) {
    if (v != "all") throw Usage(word + ": expected --benchmarks=all");
    return r.benchmark = true;
  }
  if (is("benchmark_min_time")) {
    if (!parse_double(v, &r.min_time) || !(r.min_time > 0 && r.min_time < 1e6))
      throw Usage(word + ": expected seconds above 0");
    return true;
  }
  if (is("num_threads")) {
    int64_t n = 0;
    if (!parse_int(v, &n) || n < 1 || n > 4096) throw Usage(word + ": expected 1 to 4096");
    return r.threads = static_cast<int>(n), true;
  }
  return false;
}

Request parse(int argc, char **argv) {
  Request r;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "-h") {
      r.help = true;
    } else if (word.rfind("-", 0) == 0) {
      if (!parse_option(word, r)) throw Usage("unknown option " + word);
    } else {
      const size_t equals = word.find('=');
      if (equals == std::string::npos || equals == 0)
        throw Usage("expected name=value, not " + word);
      const std::string name = word.substr(0, equals);
      for (const auto &[earlier, value] : r.options.values) {
        if (earlier == name) throw Usage(name + " was given twice");
      }
      r.options.values.emplace_back(name, word.substr(equals + 1));
    }
  }
  return r;
}

const Registered &chosen(const std::string &name) {
  std::string names;
  for (const Registered &r : registered()) {
    if (r.metadata->name == name || (name.empty() && registered().size() == 1)) return r;
    names += (names.empty() ? "" : ", ") + std::string(r.metadata->name);
  }
  if (names.empty())
    throw Usage("no pipeline is linked: compile its registration source too (-e registration)");
  throw Usage((name.empty() ? "several pipelines are linked" : "no pipeline is called " + name) +
              std::string(": --name= one of ") + names);
}

// ---- running ------------------------------------------------------------------------------------

double now() {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(t).count();
}

struct Timing {
  double best = 0;  ///< seconds a call
  int samples = 0;
  uint64_t calls = 0;
  double spread = 0;  ///< of the three best samples, relative to the best
};

/// Samples of as many calls as make a hundredth of the time asked for, until that time is up and the three
/// best agree to 3 %, but no longer than ten times as long.
Timing benchmark(const Filter &f, std::vector<void *> args, double min_time) {
  Timing t;
  std::vector<double> all;
  const double first = now();
  f.call(args.data());
  const double once = std::max(now() - first, 1e-9);
  const auto calls = static_cast<uint64_t>(std::min(std::max(min_time / 100 / once, 1.0), 1e6));
  while (true) {
    const double start = now();
    for (uint64_t i = 0; i < calls; i++) f.call(args.data());
    all.push_back((now() - start) / static_cast<double>(calls));
    t.calls += calls;
    std::sort(all.begin(), all.end());
    t.best = all[0];
    t.samples = static_cast<int>(all.size());
    t.spread = all.size() < 3 ? 1 : (all[2] - all[0]) / all[0];
    const double spent = now() - first;
    if (spent >= min_time && (t.spread < 0.03 || spent >= 10 * min_time) && all.size() >= 3)
      return t;
  }
}

double megapixels(const Filter &f, const Values &v) {
  double pixels = 0;
  for (size_t i = 0; i < f.args.size(); i++) {
    if (!f.args[i].is_output()) continue;
    double n = 1;
    for (int d = 0; d < std::min(v.images[i].dimensions(), 2); d++)
      n *= v.images[i].dim(d).extent();
    pixels = std::max(pixels, n);
  }
  return pixels / 1e6;
}

void print_timing(const Request &r, const Filter &f, const Timing &t, double mpix) {
  const char *name = f.name.c_str();
  if (!r.parsable) {
    std::printf(
        "%s: %.6g ms a call at best (%d samples, %llu calls, spread %.2g %%), %.4g Mpixel/s\n",
        name, t.best * 1e3, t.samples, static_cast<unsigned long long>(t.calls), t.spread * 100,
        mpix / t.best);
    return;
  }
  std::printf("%s BEST_TIME_MSEC_PER_ITER %.9g\n", name, t.best * 1e3);
  std::printf("%s SAMPLES %d\n", name, t.samples);
  std::printf("%s ITERATIONS %llu\n", name, static_cast<unsigned long long>(t.calls));
  std::printf("%s TIMING_ACCURACY %.6g\n", name, t.spread);
  std::printf("%s THROUGHPUT_MPIX_PER_SEC %.9g\n", name, mpix / t.best);
  std::printf("%s HALIDE_TARGET %s\n", name, f.target.c_str());
}

int run(const Request &r) {
  const Registered &pipeline = chosen(r.name);
  const Filter f = filter_of(pipeline.call, *pipeline.metadata, take_error);
  if (r.describe) {
    std::fputs(describe(f).c_str(), stdout);
    return 0;
  }
  if (r.threads > 0) halide_set_num_threads(r.threads);
  Values v;
  {
    const Progress progress("reading arguments", !r.quiet);
    v = bind(f, r.options);
  }
  if (r.verbose) {
    for (size_t i = 0; i < f.args.size(); i++) {
      if (!f.args[i].is_buffer()) continue;
      std::printf("%s: %s\n", f.args[i].name.c_str(), extents_text(shape_of(v.images[i])).c_str());
    }
  }
  if (r.track_memory) {  // the buffers of the arguments are not the pipeline's: not counted
    halide_set_custom_malloc(counting_malloc);
    halide_set_custom_free(counting_free);
  }
  std::vector<void *> args = v.argv();
  {
    const Progress progress("running " + f.name, !r.quiet);
    const double start = now();
    f.call(args.data());
    if (!r.quiet && !r.benchmark && !r.parsable)
      std::printf("%s: %.6g ms\n", f.name.c_str(), (now() - start) * 1e3);
  }
  if (r.track_memory) {
    const auto most = static_cast<unsigned long long>(bytes_most.load());
    if (r.parsable) {
      std::printf("%s MAX_MEMORY_BYTES %llu\n", f.name.c_str(), most);
    } else {
      std::printf("%s: %llu bytes of memory at most\n", f.name.c_str(), most);
    }
  }
  if (r.benchmark) {
    const Progress progress("timing " + f.name, !r.quiet);
    print_timing(r, f, benchmark(f, args, r.min_time), megapixels(f, v));
  }
  const Progress progress("writing results", !r.quiet);
  save_outputs(f, v);
  return 0;
}

}  // namespace

int run_main(int argc, char **argv) {
  halide_set_error_handler(keep_error);
  try {
    const Request r = parse(argc, argv);
    if (r.help || argc == 1) {
      std::printf(kUsage, argv[0]);
      return r.help ? 0 : 2;
    }
    return run(r);
  } catch (const Usage &e) {
    std::fprintf(stderr, "%s (--help explains)\n", e.what());
    return 2;
  } catch (const Error &e) {
    const bool whole = std::strstr(e.what(), "error[") != nullptr;  // the pipeline's own message
    if (!whole) std::fprintf(stderr, "error[%s]: ", e.code.c_str());
    std::fprintf(stderr, "%s\n", e.what());
    if (!e.help.empty()) std::fprintf(stderr, "  help: %s\n", e.help.c_str());
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "error[R0104]: out of memory\n");
  } catch (const std::exception &e) {
    std::fprintf(stderr, "error[X0001]: %s\n", e.what());
  }
  return 1;
}

}  // namespace calotype::run

void halide_register_argv_and_metadata(int (*argv_call)(void **),
                                       const halide_filter_metadata_t *metadata,
                                       const char *const *) {
  calotype::run::registered().push_back({argv_call, metadata});
}
