// What Buffers share, and their use in Exprs.
#include "buffer.h"

#include "internal.h"

namespace calotype::lang {

namespace {
constexpr double kMostBytes = 0x1p60;

/// Owns its contents, which know it only for as long as it lives: no cycle.
struct EmbeddedParameter final : ir::Parameter {
  ~EmbeddedParameter() override {
    if (buffer) static_cast<BufferContents *>(buffer.get())->param = nullptr;
  }
};
}  // namespace

BufferContents::~BufferContents() = default;

Ref<BufferContents> make_contents(RuntimeBuffer b, const std::string &name) {
  Ref<BufferContents> c(new BufferContents(std::move(b)));
  c->unnamed = name.empty();
  c->name = c->unnamed ? "buffer_" + std::to_string(next_id()) : name;
  return c;
}

Ref<BufferContents> new_contents(Type t, const std::vector<int> &sizes,
                                 const std::vector<int> &order, const std::string &name) {
  double bytes = t.bytes();
  for (int n : sizes) {
    bytes *= n;
    if (n < 0)
      raise(Diagnostic("L0105", recent_position(),
                       "a Buffer with the negative size " + std::to_string(n)));
  }
  std::string text;
  try {
    if (bytes < kMostBytes) {
      if (order.empty()) return make_contents(RuntimeBuffer(halide_type_t(t), sizes), name);
      return make_contents(RuntimeBuffer(halide_type_t(t), sizes, order), name);
    }
    text = "; a buffer may span 2^60 bytes";
  } catch (const Error &) {
    throw;
  } catch (const std::exception &) {  // no memory, or more bytes than can be counted
  }
  char size[32];
  std::snprintf(size, sizeof size, "%.3g GB", bytes / 1e9);
  raise(Diagnostic(
      "R0104", recent_position(),
      "no memory for the buffer " + (name.empty() ? "" : name + " ") + "of " + size + text));
}

void check_contents(const Ref<BufferContents> &c, Type t, int rank) {
  const Type given = c->buffer.type();
  const int dims = c->buffer.dimensions();
  if ((t.bits() && given != t) || (rank >= 0 && dims != rank)) {
    const auto text = [](Type type, int n) {
      return (type.bits() ? to_string(type) : std::string("any type")) + " with " +
             (n >= 0 ? std::to_string(n) : std::string("any number of")) +
             (n == 1 ? " dimension" : " dimensions");
    };
    raise(Diagnostic("L0403", recent_position(), "a Buffer of another type or rank is needed")
              .because("expected: " + text(t, rank))
              .because("given: " + c->name + ", " + text(given, dims)));
  }
}

void undefined_buffer() {
  raise(Diagnostic("L0101", recent_position(), "an undefined Buffer is used")
            .fix("give it a size: Buffer<uint8_t>(width, height)"));
}

Region region_of(const Ref<BufferContents> &c) {
  if (!c) undefined_buffer();
  Region r;
  for (int i = 0; i < c->buffer.dimensions(); i++) {
    r.push_back({Expr(c->buffer.dim(i).min()), Expr(c->buffer.dim(i).extent())});
  }
  return r;
}

Expr load_buffer(const Ref<BufferContents> &c, const Coordinate *coords, size_t n, SrcLoc at) {
  note_position(at);
  if (!c) undefined_buffer();
  std::vector<Expr> args =
      expand_placeholder(exprs_of(coords, n), c->buffer.dimensions(), c->name, at);
  Ref<ir::Parameter> p = c->param;
  if (!p) {
    p = new EmbeddedParameter;
    p->name = c->name;
    p->unnamed = c->unnamed;
    p->type = c->buffer.type();
    p->is_buffer = true;
    p->embedded = true;
    p->dimensions = c->buffer.dimensions();
    p->loc = at;
    p->buffer = c.get();
    c->param = p.get();
  }
  return ir::make_image_call(p->type, p, index_exprs(std::move(args), c->name, at));
}

void no_devices(const char *what) { refuse_later(what, recent_position()); }

}  // namespace calotype::lang
