// Reporters of run-time failures: code, wording, first one wins, any thread.

#include "runtime/runtime.h"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace rt = calotype::runtime;

namespace {

/// Calls one reporter with a context, checks code and diagnostic, gives back the text.
std::string text_of(int code, const char *diagnostic, const std::function<int(void *)> &reporter) {
  rt::JitContext cx;
  CHECK(reporter(&cx) == code);
  CHECK(cx.error().code == code);
  CHECK(std::string(cx.error().diagnostic()) == diagnostic);
  return cx.error().text();
}

constexpr uint32_t kU16 = 1 | 16 << 8 | 1 << 16;
constexpr uint32_t kF32 = 2 | 32 << 8 | 1 << 16;

}  // namespace

TEST_CASE("error: argument mistakes name pipeline, argument, expected and given") {
  CHECK(text_of(-12, "R0101", [](void *cx) {
          return calo_error_buffer_null(cx, "blur", "input");
        }) == "error[R0101]: blur: argument input is a null pointer, expected a buffer");
  CHECK(text_of(-3, "R0101", [](void *cx) {
          return calo_error_bad_type(cx, "blur", "input", kU16, kF32);
        }) == "error[R0101]: blur: argument input has elements of type float32, expected uint16");
  CHECK(text_of(-43, "R0101", [](void *cx) {
          return calo_error_bad_rank(cx, "blur", "input", 3, 1);
        }) == "error[R0101]: blur: argument input has 1 dimension, expected 3");
  CHECK(text_of(-28, "R0101",
                [](void *cx) { return calo_error_extent_negative(cx, "blur", "output", 1, -4); }) ==
        "error[R0101]: blur: argument output has extent -4 in dimension 1, expected 0 or more");
  CHECK(text_of(-34, "R0101", [](void *cx) {
          return calo_error_host_null(cx, "blur", "input");
        }).find("argument input has no host memory") != std::string::npos);
  CHECK(text_of(-6, "R0101", [](void *cx) {
          return calo_error_buffer_elements(cx, "blur", "input", 3000000000, INT32_MAX);
        }).find("has 3000000000 elements, at most 2147483647") != std::string::npos);
  CHECK(text_of(-5, "R0101", [](void *cx) {
          return calo_error_buffer_bytes(cx, "blur", "input", -1, INT64_MAX);
        }).find("spans too many bytes") != std::string::npos);
  CHECK(text_of(-24, "R0101", [](void *cx) {
          return calo_error_unaligned_host(cx, "blur", "input", 64);
        }).find("not aligned to 64 bytes") != std::string::npos);
  CHECK(text_of(-44, "R0101", [](void *cx) {
          return calo_error_device_dirty(cx, "blur", "input");
        }).find("no device code") != std::string::npos);
  CHECK(text_of(-101, "R0101", [](void *cx) {
          return calo_error_buffers_overlap(cx, "blur", "output", "input");
        }).find("blur: output and input share memory\n  why:") != std::string::npos);
}

TEST_CASE("error: types are spelled as C++ programs name them") {
  auto type = [](uint32_t code, uint32_t bits, uint32_t lanes) {
    const std::string s = text_of(-3, "R0101", [=](void *cx) {
      return calo_error_bad_type(cx, "p", "a", kU16, code | bits << 8 | lanes << 16);
    });
    const size_t from = s.find("of type ") + 8;
    return s.substr(from, s.find(',') - from);
  };
  CHECK(type(0, 8, 1) == "int8");
  CHECK(type(1, 1, 1) == "bool");
  CHECK(type(4, 16, 1) == "bfloat16");
  CHECK(type(3, 64, 1) == "handle64");
  CHECK(type(1, 8, 16) == "uint8x16");
  CHECK(type(77, 8, 1) == "code77_8");  // a caller's uninitialised type
}

TEST_CASE("error: an access out of bounds says who reads, where, and what would help") {
  CHECK(text_of(-4, "R0102",
                [](void *cx) {
                  return calo_error_out_of_bounds(cx, "blur", "input", 0, -1, 64, 0, 63, "blur_x",
                                                  "blur.cpp:12", nullptr);
                }) ==
        "blur.cpp:12: error[R0102]: blur: input is read outside its bounds in dimension 0: "
        "required -1 .. 64, given 0 .. 63\n"
        "  why:  blur_x reads input there\n"
        "  help: pass a larger buffer, or read through a boundary condition: "
        "BoundaryConditions::repeat_edge(input)");
  CHECK(text_of(-4, "R0102",
                [](void *cx) {
                  return calo_error_out_of_bounds(cx, "blur", "output", 2, 0, 5, 0, -1, nullptr,
                                                  nullptr, "shrink it");
                }) ==
        "error[R0102]: blur: output is accessed outside its bounds in dimension 2: "
        "required 0 .. 5, given nothing\n  help: shrink it");
}

TEST_CASE("error: constraints and scalars show both values") {
  const std::string stride = text_of(-8, "R0103", [](void *cx) {
    return calo_error_constraint(cx, "blur", "output", "stride", 0, 1, 3, nullptr);
  });
  CHECK(stride.find("blur: output.stride.0 is 3, expected 1\n  help: ") != std::string::npos);
  CHECK(text_of(-8, "R0103", [](void *cx) {
          return calo_error_constraint(cx, "p", "in", "extent", 1, 8, 9, "RoundUp by 8");
        }) == "error[R0103]: p: in.extent.1 is 9, expected 8\n  why:  RoundUp by 8");
  CHECK(text_of(-8, "R0103", [](void *cx) {
          return calo_error_constraint_expr(cx, "p", "a.stride.1 == b.extent.0", 4, 5);
        }).find("does not hold: left 4, right 5") != std::string::npos);
  CHECK(text_of(-7, "R0103", [](void *cx) {
          return calo_error_constraint_region(cx, "p", "out", 1, 0, 9, 0, 15);
        }).find("leave 0 .. 9 in dimension 1, required 0 .. 15") != std::string::npos);
  CHECK(text_of(-9, "R0103", [](void *cx) {
          return calo_error_param_too_small_i64(cx, "p", "n", -5, 0);
        }) == "error[R0103]: p: argument n is -5, expected at least 0");
  CHECK(text_of(-10, "R0103", [](void *cx) {
          return calo_error_param_too_large_u64(cx, "p", "n", UINT64_MAX, 7);
        }) == "error[R0103]: p: argument n is 18446744073709551615, expected at most 7");
  CHECK(text_of(-10, "R0103", [](void *cx) {
          return calo_error_param_too_large_f64(cx, "p", "x", 1.1, 1.0);
        }) == "error[R0103]: p: argument x is 1.1, expected at most 1");
}

TEST_CASE("error: failures while running carry their facts") {
  CHECK(text_of(-27, "R0105", [](void *cx) {
          return calo_error_requirement_failed(cx, "p", "n % 2 == 0", "n must be even", "a.cpp:3");
        }) == "a.cpp:3: error[R0105]: p: requirement failed: n % 2 == 0\n  why:  n must be even");
  CHECK(text_of(-11, "R0104", [](void *cx) {
          return calo_error_out_of_memory(cx, "p", "f", 123);
        }) == "error[R0104]: p: no memory for f, 123 bytes");
  CHECK(text_of(-11, "R0104", [](void *cx) {
          return calo_error_out_of_memory(cx, "p", "f", -1);
        }) == "error[R0104]: p: the size of f overflows");
  CHECK(text_of(-2, "R0106", [](void *cx) {
          return calo_error_explicit_bounds(cx, "p", "f", "x", 0, 7, -1, 7, nullptr);
        }).find("the bounds of f in x are 0 .. 7, required -1 .. 7") != std::string::npos);
  CHECK(text_of(-26, "R0106", [](void *cx) {
          return calo_error_fold_factor(cx, "p", "f", "y", 2, "g.y", 3);
        }).find("folded in y by 2, but one iteration of g.y needs 3") != std::string::npos);
  CHECK(text_of(-45, "R0106", [](void *cx) {
          return calo_error_storage_bound(cx, "p", "f", "y", 2, 3);
        }).find("bounded to 2 in y, required 3") != std::string::npos);
  CHECK(text_of(-46, "R0106", [](void *cx) {
          return calo_error_split_factor(cx, "p", "f", "y", 0);
        }).find("the loop y of f is split by 0") != std::string::npos);
  CHECK(text_of(-31, "R0106", [](void *cx) {
          return calo_error_specialize_fail(cx, "p", "only dense input");
        }).find("only dense input") != std::string::npos);
  CHECK(text_of(42, "R0106", [](void *cx) {
          return calo_error_extern_stage(cx, "p", "fft", 42);
        }).find("the extern stage fft returned 42") != std::string::npos);
  CHECK(text_of(-22, "X0001", [](void *cx) {
          return calo_error_internal(cx, "p", nullptr);
        }).find("internal error: (unnamed)") != std::string::npos);
}

TEST_CASE("error: the first failure is kept and told to the handler once") {
  std::vector<std::string> heard;
  rt::JitContext cx;
  cx.handler_context = &heard;
  cx.handlers.error = [](void *user, const char *message) {
    static_cast<std::vector<std::string> *>(user)->push_back(message);
  };
  calo_error_buffer_null(&cx, "p", "a");
  calo_error_host_null(&cx, "p", "b");
  CHECK(cx.error().code == -12);
  REQUIRE(heard.size() == 1);
  CHECK(heard[0] == std::string(cx.error().text()) + "\n");
  cx.clear();
  CHECK(cx.error().code == 0);
  calo_error_host_null(&cx, "p", "b");
  CHECK(cx.error().code == -34);
  CHECK(heard.size() == 2);
}

TEST_CASE("error: many threads may fail at once, one failure is kept whole") {
  rt::JitContext cx;
  const int before = rt::set_num_threads(8);
  const int code = calo_par_for(
      &cx,
      [](void *user, int i, uint8_t *) {
        const std::string name = "f" + std::to_string(i);
        return calo_error_out_of_memory(user, "p", name.c_str(), i);
      },
      0, 200, nullptr);
  rt::set_num_threads(before);
  CHECK(code == -11);
  const std::string what = cx.error().what;
  const size_t from = what.find(" f", what.find("for")) + 2;
  const std::string digits = what.substr(from, what.find(',') - from);
  CHECK(what == "p: no memory for f" + digits + ", " + digits + " bytes");
}

TEST_CASE("symbols: the table is sorted, complete and without gaps") {
  size_t count = 0;
  const rt::Symbol *table = rt::jit_symbols(&count);
  REQUIRE(count > 30);
  bool par_for = false, copy = false;
  for (size_t i = 0; i < count; i++) {
    CHECK(table[i].address != nullptr);
    if (i > 0) {
      CHECK(std::string(table[i - 1].name) < table[i].name);
    }
    par_for |= table[i].name == std::string("calo_par_for") &&
               table[i].address == reinterpret_cast<void *>(&calo_par_for);
    copy |= table[i].name == std::string("memcpy");
  }
  CHECK(par_for);
  CHECK(copy);
}

TEST_CASE("symbols: print and trace go to the context's handlers") {
  std::string heard;
  rt::JitContext cx;
  cx.handler_context = &heard;
  cx.handlers.print = [](void *user, const char *text) {
    *static_cast<std::string *>(user) += text;
  };
  cx.handlers.trace = [](void *user, const halide_trace_event_t *event) -> int32_t {
    *static_cast<std::string *>(user) += event->func;
    return 7;
  };
  halide_trace_event_t event = {};
  event.func = "blur_x";
  calo_print(&cx, "one ");
  CHECK(calo_trace(&cx, &event) == 7);
  CHECK(calo_trace(nullptr, &event) > 0);  // printed
  CHECK(heard == "one blur_x");
}
