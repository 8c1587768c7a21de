// The runtime's host in libcalotype: a JitContext says what happens to failures, memory, loops and text.
//
// Any thread of a parallel loop may fail; the first failure is kept and the front end turns it into an
// exception when the compiled function has returned. Without a context the message goes to standard
// error. Handlers are the program's and may throw: that stops here.

#include "runtime.h"

#include <cstdio>
#include <mutex>

namespace calotype::runtime {

void JitContext::record(const RuntimeError &error) {
  {
    const std::lock_guard<Mutex> lock(mutex_);
    if (first_.code != 0) {
      return;
    }
    first_ = error;
  }
  if (handlers.error) {
    handlers.error(for_handlers(), (error.text() + "\n").c_str());
  }
}

RuntimeError JitContext::error() const {
  const std::lock_guard<Mutex> lock(mutex_);
  return first_;
}

void JitContext::clear() {
  const std::lock_guard<Mutex> lock(mutex_);
  first_ = RuntimeError();
}

void report(void *cx, const RuntimeError &error) noexcept {
  try {
    if (cx) {
      static_cast<JitContext *>(cx)->record(error);
    } else {
      fputs((error.text() + "\n").c_str(), stderr);
    }
  } catch (...) {
    // The code, which the caller returns, is all that is left.
  }
}

namespace {

/// What a custom do_par_for or do_task is given in place of the task: its context is the handler's
/// own, and the task needs the JitContext back.
struct Wrapped {
  halide_task_t task;
  void *cx;
  uint8_t *closure;
};

int unwrap(void *, int index, uint8_t *closure) {
  const Wrapped &w = *reinterpret_cast<Wrapped *>(closure);
  return w.task(w.cx, index, w.closure);
}

}  // namespace

int run_task(void *cx, halide_task_t task, int index, uint8_t *closure) {
  const auto *context = static_cast<JitContext *>(cx);
  try {
    if (context && context->handlers.do_task) {
      Wrapped wrapped = {task, cx, closure};
      return context->handlers.do_task(context->for_handlers(), unwrap, index,
                                       reinterpret_cast<uint8_t *>(&wrapped));
    }
    return task(cx, index, closure);
  } catch (...) {  // from an extern function; it can't pass a thread or compiled code
    RuntimeError error;
    error.code = halide_error_code_generic_error;
    error.what = "an exception left an iteration of a parallel loop";
    report(cx, error);
    return error.code;
  }
}

}  // namespace calotype::runtime

namespace rt = calotype::runtime;

int calo_par_for(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
  auto *context = static_cast<rt::JitContext *>(cx);
  if (!context || !context->handlers.do_par_for) {
    return rt::run_loop(cx, task, min, size, closure);
  }
  rt::Wrapped wrapped = {task, cx, closure};
  return context->handlers.do_par_for(context->for_handlers(), rt::unwrap, min, size,
                                      reinterpret_cast<uint8_t *>(&wrapped));
}

void *calo_malloc(void *cx, int64_t bytes) {
  if (bytes < 0) {
    return nullptr;
  }
  const auto *context = static_cast<rt::JitContext *>(cx);
  if (context && context->handlers.malloc) {
    return context->handlers.malloc(context->for_handlers(), size_t(bytes));
  }
  return rt::allocate(uint64_t(bytes));
}

void calo_free(void *cx, void *ptr) {
  const auto *context = static_cast<rt::JitContext *>(cx);
  if (context && context->handlers.free) {
    context->handlers.free(context->for_handlers(), ptr);
  } else {
    rt::deallocate(ptr);
  }
}

void calo_print(void *cx, const char *text) {
  const auto *context = static_cast<rt::JitContext *>(cx);
  if (context && context->handlers.print) {
    context->handlers.print(context->for_handlers(), text);
  } else {
    fputs(text, stdout);
    fflush(stdout);
  }
}

int32_t calo_trace(void *cx, const halide_trace_event_t *event) {
  const auto *context = static_cast<rt::JitContext *>(cx);
  return context && context->handlers.trace
             ? context->handlers.trace(context->for_handlers(), event)
             : calo_default_trace(cx, event);
}

void *calo_user_context(void *cx) {
  const auto *context = static_cast<const rt::JitContext *>(cx);
  return context ? context->for_handlers() : nullptr;
}
