// See filter.h. The steps of bind(): scalars and files first, then sizes until they agree, then memory.
#include "filter.h"

#include <algorithm>
#include <cstring>

#include "../io/tensor.h"

namespace calotype::run {

namespace {

const std::string *find_setting(const Settings &settings, const std::string &name) {
  for (const auto &[key, value] : settings) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string listed(const Filter &f) {
  std::string names;
  for (const ArgumentInfo &a : f.args) names += (names.empty() ? "" : ", ") + a.name;
  return names;
}

/// One buffer on its way to memory.
struct Planned {
  bool given = false;  ///< inputs: has a source; outputs: always
  Source source;
  io::Array array;     ///< File, Raw: its samples
  bool sized = false;  ///< the shape is final, not what the outputs need
  Shape shape;
  std::vector<int> order;
};

class Binder {
public:
  Binder(const Filter &f, const Options &o) : f_(f), o_(o), plan_(f.args.size()) {
    values_.images.resize(f.args.size());
    values_.scalars.resize(f.args.size());
    values_.files.resize(f.args.size());
    for (const ArgumentInfo &a : f.args) values_.is_buffer.push_back(a.is_buffer());
  }

  Values bind() {
    refuse_unknown();
    for (size_t i = 0; i < f_.args.size(); i++) {
      const ArgumentInfo &a = f_.args[i];
      if (a.kind == halide_argument_kind_input_scalar) values_.scalars[i] = scalar(a);
      if (a.kind == halide_argument_kind_input_buffer) plan_input(a, plan_[i]);
    }
    size_outputs();
    settle_sizes();
    if (widen_pictures()) {
      size_outputs();
      settle_sizes();
    }
    for (size_t i = 0; i < f_.args.size(); i++) {
      if (f_.args[i].is_buffer()) make(f_.args[i], plan_[i], values_.images[i]);
    }
    return std::move(values_);
  }

private:
  void refuse_unknown() {
    for (const auto &[name, value] : o_.values) {
      bool known = false;
      for (size_t i = 0; i < f_.args.size(); i++) {
        if (f_.args[i].name != name) continue;
        known = true;
        if (f_.args[i].is_output()) values_.files[i] = value;
      }
      if (!known) {
        throw Error("L0502", f_.name + " has no argument named " + name, "it has " + listed(f_));
      }
    }
  }

  [[noreturn]] static void not_given(const ArgumentInfo &a, const std::string &remedy) {
    Error e("L0401", "input " + a.name + " was not given", remedy);
    e.argument = a.name;
    throw e;
  }

  // ---- scalars ----------------------------------------------------------------------------------

  /// One of default, estimate, a number; false where the pipeline has no such value.
  static bool scalar_from(const ArgumentInfo &a, const std::string &text, uint64_t *bits) {
    if (text == "default" || text == "estimate") {
      const std::optional<uint64_t> &known = text == "default" ? a.value : a.estimate;
      if (known) *bits = *known;
      return known.has_value();
    }
    return parse_scalar(text, a.type, bits);
  }

  uint64_t scalar(const ArgumentInfo &a) const {
    uint64_t bits = 0;
    if (const std::string *text = find_setting(o_.values, a.name)) {
      if (scalar_from(a, *text, &bits)) return bits;
      const bool word = *text == "default" || *text == "estimate";
      throw Error("R0101", "argument " + a.name + "=" + *text + ": expected " +
                               (word ? "a number: it has no " + *text : scalar_expected(a.type)));
    }
    if (a.type.code == halide_type_handle) return 0;  // the user context
    const std::string fallbacks = o_.default_scalars.empty() ? "default" : o_.default_scalars;
    for (size_t start = 0; start <= fallbacks.size();) {
      const size_t comma = std::min(fallbacks.find(',', start), fallbacks.size());
      if (scalar_from(a, fallbacks.substr(start, comma - start), &bits)) return bits;
      start = comma + 1;
    }
    not_given(a, a.name + "=VALUE, " + scalar_expected(a.type));
  }

  // ---- inputs -----------------------------------------------------------------------------------

  void plan_input(const ArgumentInfo &a, Planned &p) {
    const std::string *text = find_setting(o_.values, a.name);
    if (!text && o_.default_buffers.empty()) {
      not_given(a, a.name + "=FILE, or " + a.name +
                       "=random:0:SIZE, zero:SIZE, constant:VALUE:SIZE; SIZE is [extents] or auto");
    }
    p.source = parse_source(a.name, text ? *text : o_.default_buffers);
    switch (p.source.size) {
      case Source::Size::Own: load_file(a, p); break;
      case Source::Size::Given:
        set_extents(a, p, p.source.extents);
        if (p.source.kind == Source::Kind::Raw) load_raw(a, p);
        break;
      case Source::Size::Auto: break;
      case Source::Size::Estimate:
      case Source::Size::EstimateThenAuto:
        p.sized = a.estimated(&p.shape);
        if (!p.sized && p.source.size == Source::Size::Estimate) {
          throw Error("R0202", "argument " + a.name + " has no estimates",
                      "give its extents, or auto for what the outputs need");
        }
        break;
    }
  }

  static void set_extents(const ArgumentInfo &a, Planned &p, const std::vector<int> &extents) {
    if (static_cast<int>(extents.size()) != a.dimensions) {
      throw Error("R0101", "argument " + a.name + ": expected " + std::to_string(a.dimensions) +
                               " extents, as it has dimensions, not " +
                               std::to_string(extents.size()));
    }
    p.shape.clear();
    for (int e : extents) p.shape.push_back({0, e});
    p.sized = true;
  }

  void load_file(const ArgumentInfo &a, Planned &p) {
    try {
      p.array = io::load(p.source.path);
    } catch (const io::FileError &e) {
      throw Error("R0201", e.what());
    }
    std::vector<int> extents = p.array.extents;
    const auto rank = static_cast<size_t>(a.dimensions);
    while (extents.size() > rank && extents.back() == 1) extents.pop_back();
    while (extents.size() < rank) extents.push_back(1);
    if (extents.size() != rank) {
      const bool colour = p.array.picture && rank == 2;
      throw Error("R0101",
                  "argument " + a.name + " has " + std::to_string(rank) + " dimensions, but " +
                      p.source.path + " holds " + extents_text(p.array.extents),
                  colour
                      ? "make the picture grey, or the argument 3-dimensional: colours are never "
                        "thrown away"
                      : "");
    }
    set_extents(a, p, extents);
  }

  static void load_raw(const ArgumentInfo &a, Planned &p) {
    try {
      p.array = io::load_raw(p.source.path, a.type, p.source.extents);
    } catch (const io::FileError &e) {
      throw Error("R0201", e.what());
    }
  }

  // ---- sizes ------------------------------------------------------------------------------------

  /// What --output_extents says of this output: [w,h] is meant for all, a=[w,h],b=[n] for the named ones.
  std::string asked_of(const std::string &output) const {
    const std::string &text = o_.output_extents;
    if (text.find('=') == std::string::npos) return text;
    std::string found;
    for (size_t at = 0; at < text.size();) {
      const size_t equals = text.find('=', at), close = text.find(']', at);
      const std::string name = text.substr(at, equals == std::string::npos ? 0 : equals - at);
      const bool separated =
          close != std::string::npos &&
          (close + 1 == text.size() || (text[close + 1] == ',' && close + 2 < text.size()));
      if (name.empty() || !separated || close < equals || !is_output(name)) {
        throw Error("R0202",
                    "--output_extents=" + text + (is_output(name) ? " does not end " : " names ") +
                        (is_output(name) ? "the extents of " + name + " with ]"
                                         : "'" + name + "', which is no output"),
                    "[w,h,...] for all outputs, or by name: " + output + "=[w,...],...");
      }
      if (name == output) found = text.substr(equals + 1, close - equals);
      at = close + 2;
    }
    return found;
  }

  bool is_output(const std::string &name) const {
    return std::any_of(f_.args.begin(), f_.args.end(),
                       [&](const ArgumentInfo &a) { return a.is_output() && a.name == name; });
  }

  std::vector<int> asked_extents(const ArgumentInfo &a, const std::string &text) const {
    std::vector<int> extents;
    if (!parse_extents(text, &extents) || static_cast<int>(extents.size()) != a.dimensions) {
      throw Error("R0202",
                  "--output_extents=" + o_.output_extents + " does not give the " +
                      std::to_string(a.dimensions) + (a.dimensions == 1 ? " extent" : " extents") +
                      " of output " + a.name,
                  "[w,h,...] with dimension 0 first, or estimate; outputs of different rank by "
                  "name: " +
                      a.name + "=[w,...],...");
    }
    return extents;
  }

  /// The first input of a rank, else the first of a higher one: a grey output of a colour picture.
  const Planned *first_input_of_rank(int rank) const {
    const Planned *larger = nullptr;
    for (size_t i = 0; i < f_.args.size(); i++) {
      if (f_.args[i].kind != halide_argument_kind_input_buffer || !plan_[i].sized) continue;
      if (f_.args[i].dimensions == rank) return &plan_[i];
      if (!larger && f_.args[i].dimensions > rank) larger = &plan_[i];
    }
    return larger;
  }

  void size_outputs() {
    for (size_t i = 0; i < f_.args.size(); i++) {
      const ArgumentInfo &a = f_.args[i];
      if (!a.is_output()) continue;
      Planned &p = plan_[i];
      if (o_.output_extents == "estimate") {
        if (!a.estimated(&p.shape)) {
          throw Error("R0202", "output " + a.name + " has no estimates",
                      "--output_extents=[w,h,...]");
        }
      } else if (const std::string asked = asked_of(a.name); !asked.empty()) {
        set_extents(a, p, asked_extents(a, asked));
      } else if (const Planned *like = first_input_of_rank(a.dimensions)) {
        p.shape.assign(like->shape.begin(), like->shape.begin() + a.dimensions);
        for (Range &r : p.shape) r.min = 0;
      } else if (a.dimensions > 0) {
        p.shape.assign(static_cast<size_t>(a.dimensions),
                       Range{0, -1});  // unless the pipeline says
      }
    }
  }

  struct Query {
    std::vector<std::vector<halide_dimension_t>> dims;
    std::vector<halide_buffer_t> buffers;
  };

  /// Asks the pipeline about buffers of the shapes planned so far.
  void ask(Query &q) {
    const size_t n = f_.args.size();
    q.dims.assign(n, {});
    q.buffers.assign(n, halide_buffer_t{});
    std::vector<void *> argv(n);
    for (size_t i = 0; i < n; i++) {
      const ArgumentInfo &a = f_.args[i];
      argv[i] = &values_.scalars[i];
      if (!a.is_buffer()) continue;
      q.dims[i].resize(static_cast<size_t>(a.dimensions));
      int64_t stride = 1;
      for (size_t d = 0; d < q.dims[i].size(); d++) {
        const Range r = d < plan_[i].shape.size() ? plan_[i].shape[d] : guess(d);
        q.dims[i][d] =
            halide_dimension_t(r.min, std::max(r.extent, 0), static_cast<int32_t>(stride));
        stride = std::min<int64_t>(stride * std::max(r.extent, 1), INT32_MAX);
      }
      q.buffers[i].type = a.type;
      q.buffers[i].dimensions = a.dimensions;
      q.buffers[i].dim = q.dims[i].data();
      argv[i] = &q.buffers[i];
    }
    f_.call(argv.data());
  }

  /// Where the size of an input is asked for, its own size may count (edges that repeat): like the output.
  Range guess(size_t d) const {
    for (size_t i = 0; i < f_.args.size(); i++) {
      if (f_.args[i].is_output() && d < plan_[i].shape.size())
        return {0, std::max(plan_[i].shape[d].extent, 1)};
    }
    return {0, 1};
  }

  void settle_sizes() {
    Query q;
    for (int round = 0; round < 4; round++) {
      ask(q);
      if (!take(q)) break;
    }
    for (size_t i = 0; i < f_.args.size(); i++) {
      if (!f_.args[i].is_buffer()) continue;
      plan_[i].order = storage_order(q.buffers[i]);
      for (const Range &r : plan_[i].shape) {
        if (r.extent >= 0) continue;
        const ArgumentInfo &a = f_.args[i];
        if (!a.is_output()) {
          throw Error("R0202", "the size that input " + a.name + " needs is not known",
                      a.name + "=...:[extents] gives it");
        }
        throw Error(
            "R0202",
            "the size of output " + a.name + " is not known: no input has its " +
                std::to_string(a.dimensions) + (a.dimensions == 1 ? " dimension" : " dimensions"),
            "say --output_extents=[w,h,...], dimension 0 first, or --output_extents=estimate");
      }
    }
  }

  /// Takes over what the pipeline answered; true if that may change another answer.
  bool take(const Query &q) {
    bool changed = false;
    needed_.assign(f_.args.size(), {});
    for (size_t i = 0; i < f_.args.size(); i++) {
      const ArgumentInfo &a = f_.args[i];
      if (!a.is_buffer()) continue;
      for (const halide_dimension_t &d : q.dims[i]) needed_[i].push_back({d.min, d.extent});
      Planned &p = plan_[i];
      if (!a.is_output() && p.sized) continue;
      p.shape.resize(needed_[i].size(), Range{0, -1});
      for (size_t d = 0; d < p.shape.size(); d++) {
        const Range now = needed_[i][d];
        Range &old = p.shape[d];
        if (old.min == now.min && old.extent == now.extent) continue;
        if (a.is_output() && old.extent < 0 && now.extent == 0) continue;  // nothing new
        if (a.is_output() && p.sized && old.extent != now.extent) {
          throw Error("R0202",
                      "--output_extents=" + o_.output_extents + ": output " + a.name +
                          " has extent " + std::to_string(now.extent) + " in dimension " +
                          std::to_string(d),
                      "the generator fixes it");
        }
        old = now;
        changed = true;
      }
    }
    return changed;
  }

  // ---- pictures ---------------------------------------------------------------------------------

  /// Grey pictures for pipelines that read colours, colours for those that read transparency.
  bool widen_pictures() {
    bool any = false;
    for (size_t i = 0; i < f_.args.size(); i++) {
      Planned &p = plan_[i];
      if (!p.array.picture || f_.args[i].is_output() || p.shape.size() != 3) continue;
      const int wanted = needed_[i][2].min + needed_[i][2].extent;
      if (wanted <= p.shape[2].extent || wanted > 4 || needed_[i][2].min < 0) continue;
      p.array = io::with_channels(p.array, wanted);
      p.shape[2].extent = wanted;
      any = true;
    }
    return any;
  }

  // ---- memory -----------------------------------------------------------------------------------

  void make(const ArgumentInfo &a, const Planned &p, Image &image) const {
    image = allocate(a.type, p.shape, p.order);
    if (a.is_output()) return;
    uint64_t bits = 0;
    switch (p.source.kind) {
      case Source::Kind::File:
      case Source::Kind::Raw: convert(a, p, image); break;
      case Source::Kind::Random: fill_random(image, static_cast<uint64_t>(p.source.seed)); break;
      case Source::Kind::Zero: fill_constant(image, 0, false); break;
      case Source::Kind::Constant:
        if (!parse_scalar(p.source.value, a.type, &bits)) {
          throw Error("R0101", "argument " + a.name + "=constant:" + p.source.value +
                                   ": expected " + scalar_expected(a.type));
        }
        fill_constant(image, bits, false);
        break;
      case Source::Kind::Identity:
        parse_scalar("1", a.type, &bits);
        fill_constant(image, bits, true);
        break;
    }
  }

  static void convert(const ArgumentInfo &a, const Planned &p, Image &image) {
    try {
      io::convert(p.array, *image.raw_buffer());
    } catch (const std::invalid_argument &e) {
      throw Error("R0101", "argument " + a.name + ": " + e.what() + " (" + p.source.path + ")");
    }
  }

  const Filter &f_;
  const Options &o_;
  std::vector<Planned> plan_;
  std::vector<Shape> needed_;  ///< what the last query answered
  Values values_;
};

}  // namespace

bool ArgumentInfo::estimated(Shape *shape) const {
  Shape all;
  for (const Estimate &e : estimates) {
    if (!e.extent || *e.extent < 0 || *e.extent > INT32_MAX) return false;
    all.push_back({static_cast<int>(e.min.value_or(0)), static_cast<int>(*e.extent)});
  }
  if (static_cast<int>(all.size()) != dimensions) return false;
  *shape = std::move(all);
  return true;
}

namespace {

std::optional<uint64_t> bits_of(const halide_scalar_value_t *v) {
  if (!v) return std::nullopt;
  return v->u.u64;
}

ArgumentInfo info_of(const halide_filter_argument_t &a) {
  ArgumentInfo i;
  i.name = a.name;
  i.kind = static_cast<halide_argument_kind_t>(a.kind);
  i.type = a.type;
  i.dimensions = a.dimensions;
  i.value = bits_of(a.scalar_def);
  i.min = bits_of(a.scalar_min);
  i.max = bits_of(a.scalar_max);
  i.estimate = bits_of(a.scalar_estimate);
  for (int d = 0; i.is_buffer() && a.buffer_estimates && d < a.dimensions; d++) {
    const int64_t *min = a.buffer_estimates[2 * d], *extent = a.buffer_estimates[2 * d + 1];
    i.estimates.push_back({min ? std::optional<int64_t>(*min) : std::nullopt,
                           extent ? std::optional<int64_t>(*extent) : std::nullopt});
  }
  return i;
}

}  // namespace

Filter filter_of(int (*argv)(void **), const halide_filter_metadata_t &m,
                 std::function<std::string()> last_error) {
  Filter f;
  f.name = m.name;
  f.target = m.target;
  for (int i = 0; i < m.num_arguments; i++) f.args.push_back(info_of(m.arguments[i]));
  f.call = [argv, name = f.name, last_error](void **args) {
    const int code = argv(args);
    if (code == 0) return;
    const std::string text = last_error();
    throw Error("R0106", text.empty() ? name + " failed with code " + std::to_string(code) : text);
  };
  return f;
}

Values bind(const Filter &f, const Options &o) { return Binder(f, o).bind(); }

std::vector<void *> Values::argv() {
  std::vector<void *> all;
  for (size_t i = 0; i < images.size(); i++) {
    all.push_back(is_buffer[i] ? static_cast<void *>(images[i].raw_buffer())
                               : static_cast<void *>(&scalars[i]));
  }
  return all;
}

void save(const std::string &file, const Image &image) {
  try {
    io::save(file, *image.raw_buffer());
  } catch (const io::FileError &e) {
    throw Error("R0201", e.what());
  } catch (const std::invalid_argument &e) {
    throw Error("R0201", file + ": " + e.what());
  }
}

void save_outputs(const Filter &f, const Values &v) {
  for (size_t i = 0; i < f.args.size(); i++) {
    if (f.args[i].is_output() && !v.files[i].empty()) save(v.files[i], v.images[i]);
  }
}

// ---- describing ---------------------------------------------------------------------------------

namespace {

std::string value_text(halide_type_t t, uint64_t bits) {
  if (t == halide_type_t(halide_type_uint, 1)) return bits & 1 ? "true" : "false";
  char text[32];
  if (t == halide_type_t(halide_type_float, 32)) {
    float v;
    std::memcpy(&v, &bits, 4);
    std::snprintf(text, sizeof text, "%g", static_cast<double>(v));
    return text;
  }
  if (t == halide_type_t(halide_type_float, 64)) {
    double v;
    std::memcpy(&v, &bits, 8);
    std::snprintf(text, sizeof text, "%g", v);
    return text;
  }
  if (t.bits < 64) bits &= (uint64_t(1) << t.bits) - 1;
  const bool negative = t.code == halide_type_int && t.bits > 0 && (bits >> (t.bits - 1) & 1) != 0;
  if (negative && t.bits < 64) bits |= ~uint64_t(0) << t.bits;
  return negative ? std::to_string(static_cast<int64_t>(bits)) : std::to_string(bits);
}

std::string describe(const ArgumentInfo &a) {
  std::string text = "  " + a.name + ": ";
  text += a.is_output() ? "output, " : a.is_buffer() ? "input, " : "input, scalar ";
  if (a.is_buffer()) text += std::to_string(a.dimensions) + "-dimensional buffer of ";
  text += io::type_name(a.type);
  const auto add = [&](const char *what, const std::optional<uint64_t> &bits) {
    if (bits) text += std::string(", ") + what + " " + value_text(a.type, *bits);
  };
  if (!a.is_buffer()) {
    add("default", a.value);
    add("at least", a.min);
    add("at most", a.max);
    add("estimate", a.estimate);
  }
  Shape shape;
  if (a.is_buffer() && a.dimensions > 0 && a.estimated(&shape)) {
    text += ", estimated " + extents_text(shape);
    for (const Range &r : shape) {
      if (r.min == 0) continue;
      text += " from [";
      for (size_t d = 0; d < shape.size(); d++)
        text += (d ? "," : "") + std::to_string(shape[d].min);
      text += "]";
      break;
    }
  }
  return text + "\n";
}

}  // namespace

std::string describe(const Filter &f) {
  std::string text = f.name + " (" + f.target + ")\n";
  for (const ArgumentInfo &a : f.args) text += describe(a);
  return text;
}

}  // namespace calotype::run
