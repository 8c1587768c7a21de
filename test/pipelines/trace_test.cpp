// Trace events as a handler sees them: kinds, coordinates, values, parents.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "compat/Halide.h"
#include "support/agree.h"

using namespace Halide;

namespace {

Var x("x"), y("y");

struct Event {
  std::string func, tag;
  int kind, id, parent, index;
  std::vector<int> at;
  double value = 0;
};
std::vector<Event> g_events;

int32_t keep(JITUserContext *, const halide_trace_event_t *e) {
  Event k{e->func,      e->trace_tag ? e->trace_tag : "",
          e->event,     static_cast<int>(g_events.size()) + 1,
          e->parent_id, e->value_index,
          {},           0};
  for (int i = 0; i < e->dimensions; i++) k.at.push_back(e->coordinates[i]);
  if (e->value && e->type == halide_type_of<float>()) k.value = *static_cast<float *>(e->value);
  if (e->value && e->type == halide_type_of<int>()) k.value = *static_cast<int *>(e->value);
  if (e->value && e->type == halide_type_of<uint8_t>()) k.value = *static_cast<uint8_t *>(e->value);
  g_events.push_back(k);
  return k.id;
}

int count(const std::string &func, int kind) {
  int n = 0;
  for (const Event &e : g_events) n += e.func == func && e.kind == kind;
  return n;
}
const Event &find(const std::string &func, int kind) {
  for (const Event &e : g_events) {
    if (e.func == func && e.kind == kind) return e;
  }
  static const Event none{};
  FAIL("no event");
  return none;
}

}  // namespace

TEST_CASE("trace: stores and loads with coordinates and values, in vectors too") {
  Func f("f"), g("g");
  f(x, y) = x + 10 * y;
  g(x, y) = f(x, y) + f(x + 1, y);
  f.compute_root().trace_stores().vectorize(x, 4, TailStrategy::GuardWithIf);
  f.trace_loads();
  g.vectorize(x, 4, TailStrategy::Predicate);
  g.jit_handlers().custom_trace = keep;
  g_events.clear();
  g.realize({5, 3});
  CHECK(count("f", halide_trace_store) == 6 * 3);
  CHECK(count("f", halide_trace_load) == 2 * 5 * 3);
  CHECK(count("g", halide_trace_store) == 0);
  for (const Event &e : g_events) {
    if (e.kind <= halide_trace_store) CHECK(e.value == e.at[0] + 10 * e.at[1]);
  }
  CHECK(g_events.front().kind == halide_trace_begin_pipeline);
  CHECK(g_events.back().kind == halide_trace_end_pipeline);
  CHECK(g_events.back().parent == g_events.front().id);
  CHECK(test::disagreement(g, {6, 2}) == "");
}

TEST_CASE("trace: realizations, production and use, and their parents") {
  Func f("f"), g("g");
  f(x, y) = x - y;
  g(x, y) = f(x, y) * 2;
  f.compute_at(g, y).trace_realizations().trace_stores().add_trace_tag("a tag");
  g.trace_realizations();
  g.jit_handlers().custom_trace = keep;
  g_events.clear();
  g.realize({4, 3});
  const Event pipeline = find("g", halide_trace_begin_pipeline);
  const Event realize = find("f", halide_trace_begin_realization),
              produce = find("f", halide_trace_produce), consume = find("f", halide_trace_consume);
  CHECK(count("f", halide_trace_begin_realization) == 3);
  CHECK(count("f", halide_trace_end_realization) == 3);
  CHECK(count("f", halide_trace_end_produce) == 3);
  CHECK(count("f", halide_trace_end_consume) == 3);
  CHECK(realize.parent == pipeline.id);
  CHECK(realize.at == std::vector<int>{0, 4, 0, 1});
  CHECK(produce.parent == realize.id);
  CHECK(consume.parent == realize.id);
  CHECK(find("f", halide_trace_store).parent == produce.id);
  CHECK(find("f", halide_trace_end_produce).parent == produce.id);
  CHECK(find("g", halide_trace_begin_realization).at == std::vector<int>{0, 4, 0, 3});
  CHECK(find("f", halide_trace_tag).tag == "a tag");
}

TEST_CASE("trace: ImageParams, Tuples, and everything by target features") {
  ImageParam in(UInt(8), 1, "in");
  Func f("f"), out("out");
  f(x) = Tuple(in(x), cast<float>(x) / 2);
  out(x) = cast<float>(f(x)[0]) + f(x)[1];
  f.compute_root();
  in.trace_loads();
  Buffer<uint8_t> b(6);
  b.fill(9);
  in.set(b);
  out.jit_handlers().custom_trace = keep;
  g_events.clear();
  out.realize({6});
  CHECK(count("in", halide_trace_load) == 6);
  CHECK(find("in", halide_trace_load).value == 9);
  g_events.clear();
  const Target t =
      get_host_target().with_feature(Target::TraceStores).with_feature(Target::TraceRealizations);
  out.realize({6}, t);
  CHECK(count("f", halide_trace_store) == 12);
  CHECK(count("out", halide_trace_store) == 6);
  int second = 0;
  for (const Event &e : g_events) second += e.func == "f" && e.index == 1;
  CHECK(second == 6);
}

namespace {
std::string g_text;
void keep_print(JITUserContext *, const char *text) { g_text += text; }
}  // namespace

TEST_CASE("trace: without a handler events are printed") {
  Func f("f");
  f(x) = x * 3;
  f.trace_stores();
  f.jit_handlers().custom_print = keep_print;
  g_text.clear();
  f.realize({2});
  CHECK(g_text == "Begin pipeline f.0()\nStore f.0(0) = 0\nStore f.0(1) = 3\nEnd pipeline f.0()\n");
}
