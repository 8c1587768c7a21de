// Promise G9: the same bits for any number of threads and in every run, the same object file from every compilation.
#include <doctest/doctest.h>

#include "codegen/object.h"
#include "lower/pipeline.h"
#include "runtime/runtime.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/random_program.h"
#include "support/random_schedule.h"
#include "support/run_case.h"

using namespace calotype;
using namespace calotype::test;

namespace {

struct Drawn {
  ir::Program program;
  schedule::Schedule schedule;
};

/// Random pipelines under random schedules with parallel loops.
Drawn draw(uint64_t seed) {
  ProgramShape shape;
  shape.max_funcs = 5;
  shape.fma = get_host_target().fuses_multiply_add();
  Drawn d;
  d.program = random_program(seed, shape);
  ScheduleShape how;
  how.mins = {0, -3, 2, 0};
  how.extents = {37, 19, 3, 2};
  std::string text = random_schedule(d.program, seed, how).text;
  for (ir::Name out : d.program.outputs) {  // one parallel loop at least, where it is legal
    const ir::Function &f = *d.program.find(out);
    if (f.dimensions() == 0) continue;
    const std::string more = text + f.name.str() + ".parallel(" + f.args.back().str() + ")\n";
    try {
      schedule::apply(d.program, schedule::parse_schedule(more, "case.sched"), get_host_target());
      text = more;
    } catch (const CompileError &) {
    }
  }
  d.schedule = schedule::parse_schedule(text, "case.sched");
  return d;
}

const CaseSize kSize{{0, -3, 2, 0}, {37, 19, 3, 2}, 0};

void same_bits(int pipelines, int runs) {
  const int before = runtime::set_num_threads(0);
  int judged = 0;
  for (uint64_t seed = 1; judged < pipelines && seed < 400; seed++) {
    const Drawn d = draw(seed);
    // Where a schedule changes the order of a float reduction, threads may too.
    if (!schedule::apply(d.program, d.schedule, get_host_target()).reordered.empty()) continue;
    const CompiledCase c(d.program, d.schedule, get_host_target());
    CaseProbe first;
    if (c.run(kSize, seed, true, &first).kind != CaseResult::Same) continue;  // needs other sizes
    judged++;
    for (int threads : {1, 2, 3, 8, 64}) {
      runtime::set_num_threads(threads);
      for (int k = 0; k < runs; k++) {
        CaseProbe again;
        REQUIRE(c.run(kSize, seed, true, &again).kind == CaseResult::Same);
        const bool same = again.outputs == first.outputs;
        CHECK_MESSAGE(same, "seed " << seed << ", " << threads << " threads, run " << k);
      }
    }
  }
  runtime::set_num_threads(before);
  CHECK(judged == pipelines);
}

std::string object_of(const Drawn &d, const Target &t) {
  return codegen::compile_object(lower::lower(schedule::apply(d.program, d.schedule, t), t), t,
                                 "pipeline", codegen::ObjectForm::Object);
}

void same_objects(int pipelines) {
  const Target t = get_host_target();
  int judged = 0;
  for (uint64_t seed = 1; judged < pipelines && seed < 400; seed++) {
    try {
      const std::string once = object_of(draw(seed), t);
      const bool same = once == object_of(draw(seed), t);
      CHECK_MESSAGE(same, "seed " << seed);
      judged++;
    } catch (const CompileError &) {  // refused when lowered
    }
  }
  CHECK(judged == pipelines);
}

}  // namespace

TEST_CASE("same bits: whatever the number of threads") { same_bits(5, 3); }
TEST_CASE("same bits: two compilations give one object file") { same_objects(4); }

TEST_SUITE("slow") {
  TEST_CASE("same bits: 20 pipelines, 5 numbers of threads, 20 runs") { same_bits(20, 20); }
  TEST_CASE("same bits: 20 pipelines give the same object file twice") { same_objects(20); }
}
