// Text made of values while compiled code runs: print(), the messages of require(), trace events.
//
// Formats are built by code generation (codegen/effects.cpp): plain text with %i (int64), %u (uint64), %f and %e (double),
// %s (C string), %p (pointer) and %%, one 64-bit slot per value. Plain C, no allocation. Tests: test/unit/driver/effects_test.cpp.

#include "runtime.h"

#include <cstdio>
#include <cstring>

namespace {

constexpr size_t kMostText = 4096;  // longer messages are cut

double as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/// One value behind `kind`; returns the length wanted.
int put_value(char *out, size_t room, char kind, uint64_t bits) {
  switch (kind) {
    case 'i': return snprintf(out, room, "%lld", static_cast<long long>(bits));
    case 'u': return snprintf(out, room, "%llu", static_cast<unsigned long long>(bits));
    case 'f': return snprintf(out, room, "%f", as_double(bits));
    case 'e': return snprintf(out, room, "%e", as_double(bits));
    case 's': {
      const char *text = reinterpret_cast<const char *>(static_cast<uintptr_t>(bits));
      return snprintf(out, room, "%s", text ? text : "(null)");
    }
    case 'p': return snprintf(out, room, "0x%llx", static_cast<unsigned long long>(bits));
    default: return snprintf(out, room, "%c", kind);
  }
}

void format_values(char (&out)[kMostText], const char *format, const uint64_t *values) {
  size_t at = 0;
  for (; *format && at + 1 < kMostText; format++) {
    if (*format != '%' || !format[1]) {
      out[at++] = *format;
      continue;
    }
    const char kind = *++format;
    const int n = put_value(out + at, kMostText - at, kind, kind == '%' ? 0 : *values);
    if (kind != '%') values++;
    if (n > 0) at += static_cast<size_t>(n);
  }
  out[at < kMostText ? at : kMostText - 1] = 0;
}

/// One lane of a traced value.
int put_lane(char *out, size_t room, halide_type_t t, const void *value, int lane) {
  const char *p =
      static_cast<const char *>(value) + static_cast<size_t>(lane) * ((t.bits + 7u) / 8u);
  uint64_t raw = 0;
  memcpy(&raw, p, (t.bits + 7u) / 8u);
  if (t.code == halide_type_float && t.bits == 32) {
    float f;
    memcpy(&f, p, sizeof f);
    return snprintf(out, room, "%f", static_cast<double>(f));
  }
  if (t.code == halide_type_float && t.bits == 64) return snprintf(out, room, "%f", as_double(raw));
  if (t.code == halide_type_int && t.bits < 64) {
    const int shift = 64 - t.bits;
    raw = static_cast<uint64_t>(static_cast<int64_t>(raw << shift) >> shift);
  }
  if (t.code == halide_type_int) return put_value(out, room, 'i', raw);
  if (t.code == halide_type_uint) return put_value(out, room, 'u', raw);
  return put_value(out, room, 'p', raw);  // 16-bit floats and pointers as bits
}

int32_t g_last_event = 0;

}  // namespace

void calo_print_values(void *cx, const char *format, const uint64_t *values) {
  char text[kMostText];
  format_values(text, format, values);
  calo_print(cx, text);
}

int calo_error_requirement_values(void *cx, const char *pipeline, const char *condition,
                                  const char *where, const char *format, const uint64_t *values) {
  char text[kMostText];
  format_values(text, format, values);
  return calo_error_requirement_failed(cx, pipeline, condition, text[0] ? text : nullptr, where);
}

int32_t calo_trace_event(void *cx, const char *func, const char *tag, uint32_t type, int32_t event,
                         int32_t parent, int32_t value_index, int32_t dimensions, void *value,
                         int32_t *coordinates) {
  halide_trace_event_t e = halide_trace_event_t();
  e.func = func;
  e.trace_tag = tag;
  e.type = halide_type_t::from_u32(type);
  e.event = static_cast<halide_trace_event_code_t>(event);
  e.parent_id = parent;
  e.value_index = value_index;
  e.dimensions = dimensions;
  e.value = value;
  e.coordinates = coordinates;
  return calo_trace(cx, &e);
}

int32_t calo_default_trace(void *cx, const halide_trace_event_t *e) {
  static const char *const kNames[] = {
      "Load",    "Store",       "Begin realization", "End realization", "Produce", "End produce",
      "Consume", "End consume", "Begin pipeline",    "End pipeline",    "Tag"};
  char text[kMostText];
  const int kind = e->event >= 0 && e->event <= 10 ? static_cast<int>(e->event) : 10;
  int at = snprintf(text, sizeof text, "%s %s.%d(", kNames[kind], e->func ? e->func : "",
                    e->value_index);
  const int last = static_cast<int>(sizeof text) - 64;
  for (int i = 0; i < e->dimensions && at < last; i++)
    at += snprintf(text + at, sizeof text - static_cast<size_t>(at), "%s%d", i ? ", " : "",
                   e->coordinates[i]);
  at += snprintf(text + at, sizeof text - static_cast<size_t>(at), ")");
  if (e->value && e->event <= halide_trace_store) {
    at += snprintf(text + at, sizeof text - static_cast<size_t>(at), " = ");
    for (int i = 0; i < e->type.lanes && at < last; i++) {
      if (i) at += snprintf(text + at, sizeof text - static_cast<size_t>(at), ", ");
      at += put_lane(text + at, sizeof text - static_cast<size_t>(at), e->type, e->value, i);
    }
  }
  if (e->trace_tag && at < last)
    at += snprintf(text + at, static_cast<size_t>(last + 60 - at), " tag = \"%s\"", e->trace_tag);
  if (at > last + 60) at = last + 60;
  snprintf(text + at, sizeof text - static_cast<size_t>(at), "\n");
  calo_print(cx, text);
  return __atomic_add_fetch(&g_last_event, 1, __ATOMIC_RELAXED);
}
