// Device operations on buffers, passed on to the buffer's own device interface. This runtime brings no
// device: an interface comes from elsewhere in the program or not at all.

#include "../runtime.h"

namespace {

bool on_device(const halide_buffer_t *buf) { return buf->device != 0; }

int check(void *cx, const halide_buffer_t *buf, const char *routine) {
  if (!buf) {
    return halide_error_buffer_is_null(cx, routine);
  }
  if (buf->host_dirty() && buf->device_dirty()) {
    return halide_error_host_and_device_dirty(cx);
  }
  if (on_device(buf) && !buf->device_interface) {
    return halide_error_no_device_interface(cx);
  }
  return 0;
}

/// Runs the interface's member on a buffer that has device memory; nothing to do where it has none.
int forward(void *cx, halide_buffer_t *buf, const char *routine,
            halide_device_op_t *halide_device_interface_t::*member) {
  if (const int code = check(cx, buf, routine)) {
    return code;
  }
  return buf->device_interface ? (buf->device_interface->*member)(cx, buf) : 0;
}

}  // namespace

int halide_device_malloc(void *cx, halide_buffer_t *buf, const halide_device_interface_t *api) {
  if (const int code = check(cx, buf, "halide_device_malloc")) {
    return code;
  }
  return api ? api->device_malloc(cx, buf, api) : halide_error_no_device_interface(cx);
}

int halide_device_free(void *cx, halide_buffer_t *buf) {
  return forward(cx, buf, "halide_device_free", &halide_device_interface_t::device_free);
}

int halide_device_sync(void *cx, halide_buffer_t *buf) {
  return forward(cx, buf, "halide_device_sync", &halide_device_interface_t::device_sync);
}

int halide_copy_to_host(void *cx, halide_buffer_t *buf) {
  if (const int code = check(cx, buf, "halide_copy_to_host")) {
    return code;
  }
  if (!buf->device_dirty()) {
    return 0;
  }
  return buf->device_interface ? buf->device_interface->copy_to_host(cx, buf)
                               : halide_error_no_device_interface(cx);
}

int halide_copy_to_device(void *cx, halide_buffer_t *buf, const halide_device_interface_t *api) {
  if (const int code = check(cx, buf, "halide_copy_to_device")) {
    return code;
  }
  const halide_device_interface_t *use = api ? api : buf->device_interface;
  return use ? use->copy_to_device(cx, buf, use) : halide_error_no_device_interface(cx);
}

int halide_buffer_copy(void *cx, halide_buffer_t *src, const halide_device_interface_t *dst_api,
                       halide_buffer_t *dst) {
  if (!src || !dst) {
    return halide_error_buffer_is_null(cx, "halide_buffer_copy");
  }
  const halide_device_interface_t *use = dst_api ? dst_api : src->device_interface;
  return use ? use->buffer_copy(cx, src, dst_api, dst) : halide_error_no_device_interface(cx);
}

int halide_device_crop(void *cx, const halide_buffer_t *src, halide_buffer_t *dst) {
  return src && src->device_interface ? src->device_interface->device_crop(cx, src, dst) : 0;
}

int halide_device_slice(void *cx, const halide_buffer_t *src, int slice_dim, int slice_pos,
                        halide_buffer_t *dst) {
  return src && src->device_interface
             ? src->device_interface->device_slice(cx, src, slice_dim, slice_pos, dst)
             : 0;
}

int halide_device_release_crop(void *cx, halide_buffer_t *buf) {
  return forward(cx, buf, "halide_device_release_crop",
                 &halide_device_interface_t::device_release_crop);
}

int halide_device_wrap_native(void *cx, halide_buffer_t *buf, uint64_t handle,
                              const halide_device_interface_t *api) {
  if (const int code = check(cx, buf, "halide_device_wrap_native")) {
    return code;
  }
  return api ? api->wrap_native(cx, buf, handle, api) : halide_error_no_device_interface(cx);
}

int halide_device_detach_native(void *cx, halide_buffer_t *buf) {
  return forward(cx, buf, "halide_device_detach_native", &halide_device_interface_t::detach_native);
}

void halide_device_release(void *cx, const halide_device_interface_t *api) {
  if (api) {
    api->device_release(cx, api);
  }
}
