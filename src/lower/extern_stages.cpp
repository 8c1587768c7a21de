// Extern stages and memoize (see extern_stages.h).
#include "extern_stages.h"

#include <algorithm>

#include "../base/diagnostic.h"
#include "../schedule/memo_key.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using namespace ir;

namespace {

constexpr const char *kQuery = ".query";

bool is_buffer(const Expr &e) {
  const Call *c = e.as<Call>();
  return c && (c->call_type == CallType::Halide || c->call_type == CallType::Image);
}
Expr packed(Type t) { return c32(t.code() | t.bits() << 8 | 1 << 16); }

// A buffer without memory.
Expr shape_only(Type t, const Box &box) {
  std::vector<Expr> args{make_string(""), c32(0), packed(t)};
  for (const Interval &i : box) {
    Expr extent = make_max(make_sub(make_add(i.max, c32(1)), i.min), c32(0));
    args.insert(args.end(), {i.min, extent, c32(0)});
  }
  return make_intrinsic(Handle(), Intrinsic::buffer_make, args);
}

// The Func's memory as a buffer: all of it, or this part.
Expr memory_of(Name func, size_t value_index, const Box &part) {
  std::vector<Expr> args{make_string(func.str()), c32(static_cast<int64_t>(value_index))};
  for (const Interval &i : part) {
    args.push_back(i.min);
    args.push_back(make_max(make_sub(make_add(i.max, c32(1)), i.min), c32(0)));
  }
  return make_intrinsic(Handle(), Intrinsic::buffer_make, args);
}

}  // namespace

std::vector<std::pair<Name, Box>> query_extern(LoopContext &c, const Function &f,
                                               const FuncRegion &r, bool root,
                                               std::vector<Let> &lets) {
  const Call *stage = f.extern_stage();
  const std::string prefix = f.name + kQuery + std::to_string(c.queries++);
  std::vector<Expr> args{stage->args[0]};
  std::vector<std::pair<Name, Expr>> asked;  // handle, call
  for (size_t i = 1; i < stage->args.size(); i++) {
    const Expr &a = stage->args[i];
    if (!is_buffer(a)) {
      args.push_back(a);
      continue;
    }
    const Name handle = prefix + "." + std::to_string(i);
    const Interval zero{c32(0), c32(-1), {}};
    lets.push_back({handle, shape_only(a.type(), Box(a.as<Call>()->args.size(), zero))});
    args.push_back(make_var(handle, Handle()));
    asked.emplace_back(handle, a);
  }
  Box region;
  for (Name v : f.args) region.push_back(r.stage_ranges[0].at(v));
  for (size_t i = 0; i < f.types.size(); i++) {
    const Name handle = prefix + ".out" + std::to_string(i);
    lets.push_back({handle, shape_only(f.types[i], region)});
    args.push_back(make_var(handle, Handle()));
  }
  lets.push_back({prefix + ".code", make_intrinsic(Int(32), Intrinsic::extern_stage, args)});
  std::vector<std::pair<Name, Box>> needs;
  for (const auto &[handle, call] : asked) {
    const Call *read = call.as<Call>();
    const bool image = read->call_type == CallType::Image;
    if (image && !root) continue;  // the root asked for everything
    c.queries_inputs |= image;
    Box box;
    for (size_t d = 0; d < read->args.size(); d++) {
      const Expr h = make_var(handle, Handle()), dim = c32(static_cast<int64_t>(d));
      const Name min = handle + ".min." + std::to_string(d),
                 max = handle + ".max." + std::to_string(d);
      lets.push_back({min, make_intrinsic(Int(32), Intrinsic::buffer_min, {h, dim})});
      Expr extent = make_intrinsic(Int(32), Intrinsic::buffer_extent, {h, dim});
      lets.push_back({max, make_sub(make_add(make_var(min), extent), c32(1))});
      box.push_back({make_var(min), make_var(max), {}});
    }
    needs.emplace_back(read->name, std::move(box));
  }
  return needs;
}

bool asks_c_function(const Box &region) {
  for (const Interval &i : region) {
    for (const Expr &e : {i.min, i.max}) {
      if (!e.defined()) continue;
      for (Name n : free_vars(e)) {
        if (n.str().find(kQuery) != std::string::npos) return true;
      }
    }
  }
  return false;
}

bool touched_by_c(const Program &p, const Function &f) {
  if (f.extern_stage()) return true;
  for (const Function &g : p.funcs) {
    if (!g.extern_stage()) continue;
    const std::vector<Name> reads = called_funcs(g.pure());
    if (std::find(reads.begin(), reads.end(), f.name) != reads.end()) return true;
  }
  return false;
}

Stmt run_extern(const Function &f, const StageLoops &loops) {
  const Call *stage = f.extern_stage();
  std::vector<Expr> args{stage->args[0]};
  for (size_t i = 1; i < stage->args.size(); i++) {
    const Expr &a = stage->args[i];
    const Call *c = a.as<Call>();
    if (!is_buffer(a)) {
      args.push_back(a);
    } else if (c->call_type == CallType::Image) {
      args.push_back(make_var(c->name + ".buffer", Handle()));
    } else {
      args.push_back(memory_of(c->name, static_cast<size_t>(c->value_index), {}));
    }
  }
  Box region;
  for (Name v : f.args) region.push_back(loops.range(v, {}));
  for (size_t i = 0; i < f.types.size(); i++) args.push_back(memory_of(f.name, i, region));
  return make_evaluate(make_intrinsic(Int(32), Intrinsic::extern_stage, args));
}

Stmt memoized(const LoopContext &c, const Function &f, const FuncRegion &r, const Stmt &produce) {
  if (c.stores.count(f.name)) {
    raise(Diagnostic("S0115", c.state.of(f.name).memo_loc,
                     f.name + " cannot be memoized: it is stored outside of where it is computed")
              .because("what is kept is one whole computation, not the part that a window adds")
              .fix("leave out store_at and store_root, or put the storage where it is computed"));
  }
  const schedule::MemoKey key = schedule::memo_key(c.program, *c.cx.program.find(f.name));
  std::vector<Expr> args{make_string(c.cx.program.name + "." + key.text)};
  const Expr evict = c.state.of(f.name).evict_key;
  args.push_back(evict.defined() ? make_cast(UInt(64), evict) : make_uint(UInt(64), 0));
  args.push_back(c32(static_cast<int64_t>(key.values.size())));
  args.insert(args.end(), key.values.begin(), key.values.end());
  for (size_t i = 0; i < f.types.size(); i++) args.push_back(memory_of(f.name, i, r.required));
  const Name hit = f.name + ".hit";
  Stmt miss =
      make_block(produce, make_evaluate(make_intrinsic(Int(32), Intrinsic::memo_store, args)));
  Stmt s = make_if(make_eq(make_var(hit), c32(0)), miss);
  return make_let_stmt(hit, make_intrinsic(Int(32), Intrinsic::memo_lookup, args), s);
}

}  // namespace calotype::lower
