// The command line of generator executables, in this process.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "compat/Halide.h"
#include "support/shell.h"

using namespace calotype;
using test::temporary;
namespace fs = std::filesystem;

namespace {

class GengenScale : public Generator<GengenScale> {
public:
  GeneratorParam<int> by{"by", 2};
  Input<Buffer<uint8_t, 1>> input{"input"};
  Output<Buffer<uint8_t, 1>> output{"output"};
  void generate() {
    Var x("x");
    output(x) = cast<uint8_t>(input(x) * cast<uint8_t>(int(by)));
  }
};

struct Answer {
  int code;
  std::string text;  ///< both streams
};

/// Runs the command; what it prints goes into a file meanwhile.
Answer gengen(std::vector<std::string> words) {
  words.insert(words.begin(), "generator");
  std::vector<char *> argv;
  for (std::string &w : words) argv.push_back(w.data());
  const std::string file = temporary("gengen.out");
  std::fflush(stdout);
  std::fflush(stderr);
  const int out = dup(1), err = dup(2);
  FILE *to = std::fopen(file.c_str(), "w");
  dup2(fileno(to), 1);
  dup2(fileno(to), 2);
  const int code =
      Halide::Internal::generate_filter_main(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::fflush(stderr);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  std::fclose(to);
  return {code, test::read_file(file)};
}

bool contains(const Answer &a, const std::string &text) {
  return a.text.find(text) != std::string::npos;
}

}  // namespace

HALIDE_REGISTER_GENERATOR(GengenScale, gengen_scale, stubs::Scaling)

TEST_CASE("gengen: writes library and header, named as asked") {
  const std::string folder = temporary("gengen/made");
  Answer a = gengen({"-g", "gengen_scale", "-o", folder, "target=host", "by=3"});
  CHECK_MESSAGE(a.code == 0, a.text);
  CHECK(a.text.empty());
  CHECK(fs::exists(folder + "/gengen_scale.a"));
  CHECK(test::read_file(folder + "/gengen_scale.h").find("int gengen_scale(") != std::string::npos);
  a = gengen({"-g", "gengen_scale", "-f", "thrice", "-n", "files", "-o", folder, "-e",
              "object,c_source,stmt,schedule,assembly,bitcode,llvm_assembly", "-v", "1"});
  CHECK_MESSAGE(a.code == 0, a.text);
  CHECK(contains(a, "wrote " + folder + "/files.o\n"));
  for (const char *ending : {".o", ".c", ".stmt", ".sched", ".s", ".bc", ".ll"}) {
    CHECK(fs::file_size(folder + "/files" + ending) > 20);
  }
  CHECK(test::read_file(folder + "/files.c").find("int thrice(") != std::string::npos);
  CHECK(fs::exists(folder + "/files.h") == false);
}

TEST_CASE("gengen: -r writes the runtime alone") {
  const std::string folder = temporary("gengen/runtime");
  CHECK(gengen({"-r", "rt", "-o", folder, "target=host"}).code == 0);
  CHECK(fs::exists(folder + "/rt.a"));
  CHECK(fs::exists(folder + "/rt.h"));
  CHECK(gengen({"-r", "rt", "-e", "object", "-o", folder}).code == 0);
  CHECK(fs::exists(folder + "/rt.o"));
  CHECK(gengen({"-r", "rt", "-g", "gengen_scale", "-o", folder}).code == 1);
  CHECK(contains(gengen({"-r", "rt", "-o", folder, "by=3"}), "takes no by="));
  CHECK(contains(gengen({"-r", "rt", "-o", folder, "-f", "name"}), "takes no -f"));
}

TEST_CASE("gengen: a stub has the generator's inputs, parameters and outputs") {
  const std::string folder = temporary("gengen/stub");
  const Answer a = gengen({"-g", "gengen_scale", "-o", folder, "-e", "cpp_stub", "by=3"});
  REQUIRE_MESSAGE(a.code == 0, a.text);
  const std::string stub = test::read_file(folder + "/gengen_scale.stub.h");
  for (const char *part : {"namespace stubs {\nclass Scaling {", "Halide::Func input;",
                           "calotype::driver::ParamText by = \"2\";", "Halide::Func output;",
                           "create_generator(\"gengen_scale\", context)"}) {
    CAPTURE(part);
    CHECK(stub.find(part) != std::string::npos);
  }
}

TEST_CASE("gengen: several targets, each with the schedule that its target chooses") {
  const std::string folder = temporary("gengen/targets"), schedules = temporary("gengen/schedules");
  fs::create_directories(schedules);
  const std::string head = "calotype 1\npipeline gengen_scale\n";
  test::write_text_file(schedules + "/any.sched", head + "target any\noutput.unroll(x, 2)\n");
  test::write_text_file(schedules + "/x86-64-avx2.sched",
                        head + "target x86-64-avx2\noutput.vectorize(x, 32)\n");
  const Answer a =
      gengen({"-g", "gengen_scale", "-o", folder, "-e", "static_library,c_header,schedule",
              "target=x86-64-linux-avx2-fma-f16c,x86-64-linux", "schedule=" + schedules});
  CHECK_MESSAGE(a.code == 0, a.text);
  CHECK(test::shell("ar t " + folder + "/gengen_scale.a").out ==
        "gengen_scale_x86_64_linux_avx2_f16c_fma.o\ngengen_scale_x86_64_linux.o\ngengen_scale.o\n"
        "calotype_runtime.o\n");
  CHECK(test::read_file(folder + "/gengen_scale-x86-64-linux-avx2-f16c-fma.sched")
            .find("vectorize(x, 32)") != std::string::npos);
  CHECK(test::read_file(folder + "/gengen_scale-x86-64-linux.sched").find("unroll(x, 2)") !=
        std::string::npos);
}

TEST_CASE("gengen: mistakes are named, and nothing is written") {
  const std::string folder = temporary("gengen/nothing");
  const std::vector<std::string> good = {"-g", "gengen_scale", "-o", folder};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return gengen(more);
  };
  struct Mistake {
    Answer answer;
    const char *says;
  };
  const Mistake all[] = {
      {gengen({"-g", "gengen_scale"}), "-o FOLDER is missing"},
      {gengen({"-o", folder, "-g", "gengen_scail"}), "gengen_scale"},
      {with({"-e"}), "-e needs a value"},
      {with({"-e", "static_libary"}), "did you mean static_library?"},
      {with({"-e", "stmt_html"}), "not available yet"},
      {with({"-q"}), "unknown option -q"},
      {with({"by"}), "expected name=value"},
      {with({"bye=3"}), "has no parameter bye"},
      {with({"by=three"}), "cannot be \"three\""},
      {with({"by=1", "by=2"}), "by was given twice"},
      {with({"target=x86-64-linux-avx3"}), "avx3"},
      {with({"target=host,host"}), "twice"},
      {with({"target="}), "holds an empty target"},
      {with({"target=x86-64-linux,"}), "holds an empty target"},
      {with({"target=x86-64-linux,x86-64-linux-avx2"}), "would never be chosen"},
      {with({"target=x86-64-linux-profile"}), "its feature profile has no meaning here yet"},
      {with({"target=host-cuda"}), "its feature cuda has no meaning here yet"},
      {with({"target=arm-64-linux"}), "arm-64-linux"},
      {with({"-f", "two words"}), "C identifier"},
      {with({"-n", "a/b"}), "the files cannot be called a/b"},
      {with({"-s", "Mullapudi2016"}), "no autoscheduler"},
      {with({"-p", "nowhere.so"}), "cannot load the plugin"},
      {with({"-t", "soon"}), "number of seconds"},
      {with({"schedule=" + folder + "/none.sched"}), "none.sched"},
  };
  for (const Mistake &m : all) {
    CHECK_MESSAGE(m.answer.code == 1, m.says);
    CHECK_MESSAGE(contains(m.answer, m.says), m.answer.text);
    CHECK_MESSAGE(contains(m.answer, "error["), m.answer.text);
  }
  CHECK(!fs::exists(folder));
  const Answer help = gengen({"--help"});
  CHECK(help.code == 0);
  CHECK(contains(help, "usage: generator -o FOLDER -g GENERATOR"));
  CHECK(contains(help, "gengen_scale"));
}
