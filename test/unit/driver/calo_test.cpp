// The built command as a person uses it: `calo` of the SDK in a process of its own, on files.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/image.h"
#include "support/skip.h"

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kCalo = CALO_SDK_DIR "/bin/calo";
const std::string kBlur = CALO_SOURCE_DIR "/apps/blur/algorithm.cpp";
const std::string kSchedules = CALO_SOURCE_DIR "/schedules/blur";

#define NEED_CALO() \
  if (!fs::exists(kCalo)) CALO_SKIP("%s is not built", kCalo.c_str())

/// A folder for this process, removed at its end; the cache of compiled generators lies in it too.
struct Scratch {
  fs::path path;
  Scratch() {
    char name[] = "/tmp/calo_test.XXXXXX";
    path = mkdtemp(name);
    setenv("CALO_CACHE", (path / "cache").c_str(), 1);
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path, error);
  }
};

std::string scratch(const std::string &file) {
  static const Scratch folder;
  return (folder.path / file).string();
}

std::string read(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write(const std::string &file, const std::string &text) { std::ofstream(file) << text; }

struct Answer {
  int code = -1;
  std::string out, err;
  Json json() const { return Json::parse(out, nullptr, false); }
};

/// Runs `calo arguments` through the shell.
Answer calo(const std::string &arguments) {
  const std::string out = scratch("stdout"), err = scratch("stderr");
  const int status = std::system((kCalo + " " + arguments + " >" + out + " 2>" + err).c_str());
  Answer a;
  a.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  a.out = read(out);
  a.err = read(err);
  INFO("calo " << arguments << "\n" << a.out << a.err);
  CHECK(a.code != 128);  // never a signal
  return a;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

#define CHECK_CONTAINS(text, part) \
  CHECK_MESSAGE(contains(text, part), "\"" << part << "\" is not in: " << text)

/// Two generators: one with everything that arguments may be, one without inputs.
std::string generators() {
  const std::string file = scratch("two.cpp");
  if (fs::exists(file)) return file;
  write(scratch("amount.h"), "inline int amount() { return 1; }\n");
  write(file, R"(#include "Halide.h"
#include "amount.h"
using namespace Halide;
struct Scale : Generator<Scale> {
  GeneratorParam<int> factor{"factor", 2};
  Input<Buffer<uint8_t, 2>> source{"source"};
  Input<int> offset{"offset"};
  Output<Buffer<int32_t, 2>> result{"result"};
  void generate() { result(x, y) = cast<int32_t>(source(x, y)) * factor + offset * amount(); }
  Var x{"x"}, y{"y"};
};
struct Slope : Generator<Slope> {
  Output<Buffer<int32_t, 2>> result{"result"};
  void generate() { result(x, y) = x + 10 * y; }
  Var x{"x"}, y{"y"};
};
HALIDE_REGISTER_GENERATOR(Scale, scale)
HALIDE_REGISTER_GENERATOR(Slope, slope)
)");
  return file;
}

std::vector<int32_t> values(const std::string &file) {
  const calotype::io::Array a = calotype::io::load(file);
  const auto *first = reinterpret_cast<const int32_t *>(a.data.data());
  return {first, first + a.data.size() / sizeof(int32_t)};
}

std::string broken_schedule() {
  const std::string file = scratch("broken.sched");
  write(file, "calotype 1\npipeline blur\ntarget any\nblur_y.compute_root()\n");
  return file;
}

}  // namespace

TEST_CASE("calo: usage errors exit with 2, help with 0") {
  NEED_CALO();
  CHECK(calo("").code == 2);
  CHECK(calo("paint " + kBlur).code == 2);
  CHECK(calo("run").code == 2);
  CHECK(calo("run " + kBlur + " --no-such-option").code == 2);
  CHECK(calo("--help").code == 0);
  const Answer a = calo("run --json");
  CHECK(a.code == 2);
  CHECK(a.json()["errors"][0]["code"] == "usage");
}

TEST_CASE("calo run: computes from a file into a file") {
  NEED_CALO();
  const std::string out = scratch("blur.png"),
                    photo = CALO_SOURCE_DIR "/apps/support/images/chelsea.png";
  const Answer a = calo("run " + kBlur + " --schedule " + kSchedules + " --check input=" + photo +
                        " output=" + out);
  CHECK_MESSAGE(a.code == 0, a.err);
  CHECK_CONTAINS(a.out, "schedules/blur/");
  CHECK_CONTAINS(a.out, "ms");
  const calotype::io::Array picture = calotype::io::load(out);
  CHECK(picture.extents == std::vector<int>{451, 300, 3});
  CHECK(picture.type.bits == 16);
}

TEST_CASE("calo run: scalars, generator parameters and made-up inputs") {
  NEED_CALO();
  const std::string out = scratch("scaled.npy");
  const Answer a =
      calo("run " + generators() +
           " -g scale factor=3 source=constant:7:[5,2] offset=-1 result=" + out + " --json");
  REQUIRE_MESSAGE(a.code == 0, a.out);
  CHECK(a.json()["outputs"][0]["extents"] == Json({5, 2}));
  CHECK(values(out) == std::vector<int32_t>(10, 20));
}

TEST_CASE("calo run: an output without an input of its rank needs a size") {
  NEED_CALO();
  const std::string out = scratch("slope.npy");
  Answer a = calo("run " + generators() + " -g slope result=" + out + " --json");
  CHECK(a.code == 1);
  CHECK(a.json()["errors"][0]["code"] == "R0202");
  a = calo("run " + generators() + " -g slope --output_extents=[3] result=" + out);
  CHECK(a.code == 1);
  CHECK_CONTAINS(a.err, "R0202");
  a = calo("run " + generators() + " -g slope --output_extents=[3,2] result=" + out);
  CHECK_MESSAGE(a.code == 0, a.err);
  CHECK(values(out) == std::vector<int32_t>{0, 1, 2, 10, 11, 12});
}

TEST_CASE("calo run: refuses arguments that don't fit, and says which") {
  NEED_CALO();
  const std::string start = "run " + generators() + " -g scale --json ";
  const auto code = [&](const std::string &arguments) {
    const Answer a = calo(start + arguments);
    CHECK(a.code == 1);
    return a.json()["errors"][0].value("code", "none") + std::string(": ") +
           a.json()["errors"][0].value("what", "");
  };
  CHECK_CONTAINS(code("offset=1"), "L0401: input source was not given");
  CHECK_CONTAINS(code("source=zero:[4,4]"), "L0401: input offset was not given");
  CHECK_CONTAINS(code("source=/dev/zero offset=1"), "R0201: /dev/zero: ");
  CHECK_CONTAINS(code("source=zero:[4] offset=1"), "R0101: argument source");
  CHECK_CONTAINS(code("source=zero:[4,4 offset=1"), "R0101: argument source");
  CHECK_CONTAINS(code("source=zero:[4,4] offset=one"), "R0101: argument offset=one");
  CHECK_CONTAINS(code("source=zero:[4,4] offset=3000000000"), "R0101: argument offset");
  CHECK_CONTAINS(code("source=/nonexistent.png offset=1"), "R0201: /nonexistent.png");
  CHECK_CONTAINS(code("source=zero:[4,4] offset=1 offset=2"), "L0502: offset was given twice");
  CHECK_CONTAINS(code("source=zero:[4,4] ofset=1"), "ofset");
  CHECK_CONTAINS(code("source=zero:[4,4] offset=1 factor=many"), "L0502");
}

TEST_CASE("calo: several generators in one source need -g, by one of their names") {
  NEED_CALO();
  Answer a = calo("check " + generators());
  CHECK(a.code == 1);
  CHECK_CONTAINS(a.err, "scale");
  CHECK_CONTAINS(a.err, "slope");
  a = calo("check " + generators() + " -g slop");
  CHECK(a.code == 1);
  CHECK_CONTAINS(a.err, "slope");
}

namespace {

int files_in(const std::string &folder) {
  std::error_code error;
  int n = 0;
  for (const auto &entry : fs::directory_iterator(folder, error)) n += entry.is_regular_file();
  return n;
}

/// Changes one byte in the middle of every file.
void damage(const std::string &folder) {
  for (const auto &entry : fs::directory_iterator(folder)) {
    std::string bytes = read(entry.path().string());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
}

}  // namespace

TEST_CASE("calo: a stub calls its generator from a program" * doctest::test_suite("slow")) {
  NEED_CALO();
  const std::string folder = scratch("stub");
  fs::create_directories(folder);
  write(folder + "/scale.cpp", R"(#include "Halide.h"
using namespace Halide;
class Scale : public Generator<Scale> {
public:
  GeneratorParam<int> by{"by", 2};
  GeneratorParam<Type> type{"type", UInt(8)};
  Input<Func[]> images{"images", Int(32), 1};
  Input<int> offset{"offset"};
  Output<Func> output{"output", Int(32), 1};
  Output<Func[2]> both{"both", Int(32), 1};
  void generate() {
    Var x("x");
    output(x) = images[0](x) * int(by) + images[1](x) + offset;
    both[0](x) = images[0](x);
    both[1](x) = images[1](x) + type.value().bits();
  }
};
HALIDE_REGISTER_GENERATOR(Scale, scale, made::scale)
)");
  write(folder + "/main.cpp", R"(#include "scale.stub.h"
#include <cstdio>
int main() {
  Halide::Var x("x");
  Halide::Func f, g;
  f(x) = x;
  g(x) = 100 * x;
  made::scale::GeneratorParams params;
  params.by = 3;
  params.type = Halide::Int(32);
  const Halide::GeneratorContext context(Halide::get_host_target());
  made::scale::Outputs out = made::scale::generate(context, {{f, g}, 7}, params);
  Halide::Buffer<int> a = out.output.realize({3}), b = out.both[1].realize({3});
  std::printf("%d %d\n", a(2), b(2));
}
)");
  const Answer a = calo("build " + folder + "/scale.cpp -e cpp_stub -o " + folder);
  REQUIRE_MESSAGE(a.code == 0, a.err);
  const std::string sdk = CALO_SDK_DIR;
  REQUIRE(std::system(("c++ -std=c++17 -I" + sdk + "/include " + folder + "/main.cpp " + folder +
                       "/scale.cpp -L" + sdk + "/lib -lcalotype -Wl,-rpath," + sdk + "/lib -o " +
                       folder + "/main && " + folder + "/main >" + folder + "/out")
                          .c_str()) == 0);
  CHECK(read(folder + "/out") == "213 232\n");
}

TEST_CASE("calo: a source that was not compiled before builds for several targets") {
  NEED_CALO();
  const std::string cache = scratch("fresh_cache"), folder = scratch("several");
  setenv("CALO_CACHE", cache.c_str(), 1);
  const Answer a =
      calo("build " + generators() + " -g scale -o " + folder +
           " target=x86-64-linux-avx512_skylake,x86-64-linux-avx2-fma-f16c,x86-64-linux");
  setenv("CALO_CACHE", scratch("cache").c_str(), 1);
  CHECK_MESSAGE(a.code == 0, a.err);
  CHECK(fs::exists(folder + "/scale.a"));
}

TEST_CASE("calo: a compiled generator is kept, and made again when what it read changes") {
  NEED_CALO();
  const std::string out = scratch("kept.npy"), kept = scratch("cache/generators");
  const std::string command =
      "run " + generators() + " -g scale source=zero:[1,1] offset=5 result=" + out;
  REQUIRE(calo(command).code == 0);
  const int before = files_in(kept);
  REQUIRE(calo(command).code == 0);
  CHECK(files_in(kept) == before);
  write(scratch("amount.h"), "inline int amount() { return 2; }\n");
  REQUIRE(calo(command).code == 0);
  CHECK(files_in(kept) == before + 1);  // the object; the list of files is replaced
  CHECK(values(out) == std::vector<int32_t>{10});
  write(scratch("amount.h"), "inline int amount() { return 1; }\n");
  struct stat s = {};
  REQUIRE(stat(kept.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
}

TEST_CASE("calo: compiled pipelines are kept; damaged ones are made again") {
  NEED_CALO();
  const std::string out = scratch("cached.npy"), jit = scratch("cache/jit");
  const auto scaled = [&](int factor) {
    const Answer a = calo("run " + generators() + " -g scale source=constant:7:[5,2] offset=-1" +
                          " factor=" + std::to_string(factor) + " result=" + out);
    CHECK_MESSAGE(a.code == 0, a.err);
    CHECK(values(out) == std::vector<int32_t>(10, 7 * factor - 1));
  };
  scaled(11);
  const int before = files_in(jit);
  scaled(11);
  CHECK(files_in(jit) == before);
  scaled(12);
  CHECK(files_in(jit) == before + 1);
  damage(jit);
  damage(scratch("cache/generators"));
  scaled(11);
  scaled(12);
}

TEST_CASE("calo: without a cache that can be used everything works") {
  NEED_CALO();
  const std::string out = scratch("uncached.npy"), file = scratch("occupied");
  write(file, "no folder");
  for (const std::string &cache :
       {std::string("off"), file + "/below", std::string("/proc/none")}) {
    setenv("CALO_CACHE", cache.c_str(), 1);
    const Answer a =
        calo("run " + generators() + " -g scale source=zero:[1,1] offset=5 result=" + out);
    setenv("CALO_CACHE", scratch("cache").c_str(), 1);
    CHECK_MESSAGE(a.code == 0, cache << ": " << a.err);
    CHECK(values(out) == std::vector<int32_t>{5});
  }
  CHECK_FALSE(fs::exists("off"));
}

TEST_CASE("calo: a source that does not compile shows the compiler's words and one line of ours") {
  NEED_CALO();
  const std::string file = scratch("wrong.cpp");
  write(file, "#include \"calotype.h\"\nint x = undeclared_thing;\n");
  const Answer a = calo("check " + file);
  CHECK(a.code == 1);
  CHECK_CONTAINS(a.err, "wrong.cpp:2:");
  CHECK_CONTAINS(a.err, "undeclared_thing");
  CHECK_CONTAINS(a.err, "error[T0202]");
  CHECK(calo("check /nonexistent.cpp").code == 1);
  const Answer readme = calo("run " CALO_SOURCE_DIR "/README.md");
  CHECK(readme.code == 1);
  CHECK(readme.err.find("neither a C++ source") != std::string::npos);
  const Answer argument = calo("build " + kBlur + " -o " + scratch("never") + " input=photo.png");
  CHECK(argument.code == 1);
  CHECK(argument.err.find("calo build takes no value for input") != std::string::npos);
  CHECK(!fs::exists(scratch("never")));
}

TEST_CASE("calo check: legal schedules, and the place of a mistake") {
  NEED_CALO();
  const Answer good = calo("check " + kBlur + " --schedule " + kSchedules);
  CHECK_MESSAGE(good.code == 0, good.err);
  CHECK_CONTAINS(good.out, "any-untouched.sched: legal");
  const Answer bad = calo("check " + kBlur + " --schedule " + broken_schedule());
  CHECK(bad.code == 1);
  CHECK_CONTAINS(bad.err, "broken.sched:4:1: error[S0101]");
  CHECK_CONTAINS(bad.err, "blur_x");  // the nearest name
  const Json j = calo("check --json " + kBlur + " --schedule " + broken_schedule()).json();
  CHECK(j["errors"][0]["code"] == "S0101");
  CHECK(j["errors"][0]["line"] == 4);
}

TEST_CASE("calo schedule: what it prints loads as the same schedule") {
  NEED_CALO();
  const Answer first = calo("schedule " + kBlur + " --schedule " + kSchedules + "/any-tiled.sched");
  REQUIRE_MESSAGE(first.code == 0, first.err);
  CHECK_CONTAINS(first.out, "blur_x.compute_at(output, xo)");
  const std::string file = scratch("again.sched");
  write(file, first.out);
  CHECK(calo("schedule " + kBlur + " --schedule " + file).out == first.out);
  const Answer cpp = calo("schedule " + kBlur + " --as cpp --schedule " + file);
  CHECK(cpp.code == 0);
  CHECK_CONTAINS(cpp.out, "compute_at(output, xo)");
}

TEST_CASE("calo explain: Funcs, loops with ranges, and what slides") {
  NEED_CALO();
  const Answer a = calo("explain " + kBlur + " --target x86-64-linux-avx2-fma-f16c --schedule " +
                        kSchedules + " --variant rows");
  REQUIRE_MESSAGE(a.code == 0, a.err);
  CHECK_CONTAINS(a.out, "blur_x(x, y, c) uint16");
  CHECK_CONTAINS(a.out, "slides");
  CHECK_CONTAINS(a.out, "parallel output.s0.yo in [0, 149]");
  const Json j = calo("explain --json " + kBlur).json();
  CHECK(j["numerics"].is_string());
  bool found = false;
  for (const Json &f : j["funcs"]) {
    if (f["name"] != "output") continue;
    found = true;
    CHECK(f["points"] == 6400.0 * 4800);
    CHECK(f["bytes_written"] == 2 * 6400.0 * 4800);
  }
  CHECK(found);
}

TEST_CASE("calo explain --at: what one point needs and which iterations compute it") {
  NEED_CALO();
  const std::string rows =
      " --target x86-64-linux-avx2-fma-f16c --schedule " + kSchedules + " --variant rows";
  const Answer a = calo("explain " + kBlur + rows + " --at 'output(17, 33, 0)'");
  REQUIRE_MESSAGE(a.code == 0, a.err);
  CHECK_CONTAINS(a.out, "yo = ");
  CHECK_CONTAINS(a.out, "blur_x  x in [17, 17], y in [32, 34]");
  CHECK_CONTAINS(a.out, "slides over y");
  CHECK(calo("explain " + kBlur + " --at 'output(17)'").code == 1);
  CHECK(calo("explain " + kBlur + " --at 'nothing(17, 3, 0)'").code == 1);
  CHECK(calo("explain " + kBlur + " --at 'output(17, x, 0)'").code == 1);
}

TEST_CASE("calo explain: an error code") {
  NEED_CALO();
  const Answer a = calo("explain S0104");
  CHECK(a.code == 0);
  CHECK_CONTAINS(a.out, "S0104");
  CHECK(calo("explain Z9999").code == 1);
}

TEST_CASE("calo bench: schedules side by side have the interpreter's bits") {
  NEED_CALO();
  const Answer a = calo("bench " + kBlur + " --samples 2 --check --json --schedule " + kSchedules +
                        "/any-untouched.sched --schedule " + kSchedules +
                        "/any-tiled.sched input=random:1:[67,35,3] --save " + scratch("pictures"));
  REQUIRE_MESSAGE(a.code == 0, a.out << a.err);
  const Json j = a.json();
  REQUIRE(j["results"].size() == 2);
  for (const Json &r : j["results"]) {
    CHECK(r["same_bits"] == true);
    CHECK(r["times_ms"].size() == 2);
    CHECK(r["compile_ms"] > 0);
  }
  CHECK(j["reference"] == "interpreter");
  CHECK(fs::exists(scratch("pictures/blur-any-tiled.png")));
}

TEST_CASE("calo opt: lists passes, and runs them on text") {
  NEED_CALO();
  const Answer list = calo("opt --list");
  CHECK(list.code == 0);
  CHECK_CONTAINS(list.out, "vectorize_loops");
  const Answer flat = calo("opt " + kBlur + " --stop-after flatten_storage");
  REQUIRE_MESSAGE(flat.code == 0, flat.err);
  const std::string file = scratch("02-flatten_storage.ir");
  write(file, flat.out);
  const Answer rest = calo("opt --from " + file);
  CHECK_MESSAGE(rest.code == 0, rest.err);
  CHECK(rest.out == calo("opt " + kBlur).out);
  CHECK(calo("opt --from " + file + " --stop-after nothing").code == 1);
  write(file, "for (");
  CHECK(calo("opt --from " + file).code == 1);
}

TEST_CASE("calo build: writes the files asked for") {
  NEED_CALO();
  const Answer a =
      calo("build " + kBlur + " -e stmt,schedule,llvm_assembly,assembly,object -n soft -o " +
           scratch("built"));
  REQUIRE_MESSAGE(a.code == 0, a.err);
  for (const char *ending : {".stmt", ".sched", ".ll", ".s", ".o"}) {
    CHECK(fs::file_size(scratch("built/soft") + ending) > 20);
  }
  CHECK(calo("build " + kBlur + " -e poem").code == 1);
}
