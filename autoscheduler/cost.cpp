#include "cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "../src/ir/visit.h"
#include "../src/lower/pipeline.h"
#include "../src/lower/walk_loops.h"
#include "work.h"

namespace calotype::autoscheduler {

namespace {

class CostWalk final : public lower::LoopWalk {
public:
  CostWalk(const Problem &p, const lower::PassContext &cx, const Machine &m)
      : LoopWalk(p.sizes), p_(p), cx_(cx), m_(m) {
    for (const lower::LoweredArgument &a : cx.args) {
      if (a.kind != lower::LoweredArgument::Kind::InputScalar) storage_[a.name] = buffer_bytes(a);
    }
  }
  double ns = 0;

protected:
  void at_realize(const ir::Realize *op, double elements) override {
    double bytes = 0;
    for (const Type &t : op->types) bytes += t.bytes() * elements;
    if (std::isnan(bytes)) bytes = m_.l3;
    storage_[op->name] = bytes;
    const double each = m_.allocation_ns + (bytes > m_.l2 ? bytes * m_.page_ns_per_byte : 0);
    ns += or_one(times()) * each / threads();
  }

  void at_loop(const ir::For *op, int64_t, int64_t extent) override {
    if (extent < 0) return;
    const double n = or_one(times());
    if (op->for_type == ir::ForType::Parallel) {
      ns += n * (m_.parallel_ns + m_.task_ns * static_cast<double>(extent) / m_.threads);
    } else if (op->for_type == ir::ForType::Serial) {
      ns += n * static_cast<double>(extent) * 1.5 * m_.ns_per_cycle / threads();
    }
  }

  void at_provide(const ir::Provide *op) override {
    const ir::Function *f = cx_.program.find(op->name);
    if (!f) return;
    const Work &w = work(*f, static_cast<size_t>(stage_of(*f)));
    double lanes = 1;
    for (const Frame &frame : around()) {
      if (frame.loop->for_type == ir::ForType::Vectorized)
        lanes *= static_cast<double>(std::max<int64_t>(frame.extent, 1));
    }
    const double points = or_one(times());
    // Simple instructions: two a cycle, each for as many lanes as a register holds.
    const double per_register = std::max(1.0, m_.vector_bytes * 8.0 / std::max(8, w.bits));
    const double share = 1 / std::min(lanes, per_register);
    double cycles = w.operations * 0.5 * share, traffic = 0, memory = 0;
    std::map<std::string, double> seen;
    for (const Read &r : w.reads) {
      cycles += r.access == Access::Strided && lanes > 1 ? 1.0 : 0.5 * share;
      if (r.access != Access::Broadcast) seen[r.name] = r.bytes;
    }
    for (const auto &[name, bytes] : seen) charge(name, bytes, &traffic, &memory);
    double written = 0;
    for (const Type &t : f->types) written += t.bytes();
    cycles += share;
    charge(p_.program.is_output(f->name) && f->types.size() > 1 ? f->name + ".0" : f->name.str(),
           2 * written, &traffic, &memory);
    const double alone = points * std::max(cycles, traffic) / threads();
    ns += std::max(alone, points * memory) * m_.ns_per_cycle;
  }

private:
  static double or_one(double n) { return std::isnan(n) ? 1 : n; }

  double buffer_bytes(const lower::LoweredArgument &a) const {
    double bytes = a.type.bytes();
    for (int d = 0; d < a.dimensions; d++) {
      const auto v = p_.sizes.vars.find(a.name + ".extent." + std::to_string(d));
      if (v != p_.sizes.vars.end()) bytes *= static_cast<double>(v->second.as_int());
    }
    return bytes;
  }

  /// Cycles per point of moving `bytes` from or to where `name` lives: per core, and of the shared memory.
  void charge(const std::string &name, double bytes, double *own, double *shared) const {
    const auto at = storage_.find(name);
    const double size = at == storage_.end() ? 0 : at->second;
    if (size <= m_.l1) return;
    if (size <= m_.l2) {
      *own += bytes / m_.l2_rate;
    } else if (size <= m_.l3) {
      *own += bytes / m_.l3_rate;
    } else {
      *shared += bytes / m_.memory_rate;
    }
  }

  /// How many threads work here: parallel loops around, as far as their iterations fill the threads.
  double threads() const {
    double iterations = 1;
    for (const Frame &frame : around()) {
      if (frame.loop->for_type == ir::ForType::Parallel)
        iterations *= static_cast<double>(std::max<int64_t>(frame.extent, 1));
    }
    return iterations / std::ceil(iterations / m_.threads);
  }

  const Work &work(const ir::Function &f, size_t stage) {
    const auto key = std::make_pair(&f, stage);
    const auto at = work_.find(key);
    if (at != work_.end()) return at->second;
    return work_.emplace(key, work_of(f, f.definitions[stage])).first->second;
  }

  const Problem &p_;
  const lower::PassContext &cx_;
  const Machine &m_;
  std::map<std::string, double> storage_;
  std::map<std::pair<const ir::Function *, size_t>, Work> work_;
};

}  // namespace

Machine machine_for(const Problem &p) {
  Machine m;
  m.threads = std::max(1, p.threads);
  m.vector_bytes = p.target.has_feature(Target::AVX512_Skylake) ? 64
                   : p.target.has_feature(Target::AVX2)         ? 32
                                                                : 16;
  return m;
}

double predict(const Problem &p, const schedule::Scheduled &s, const Machine &m) {
  lower::PassContext cx;
  const ir::Stmt loops = lower::loops_of(s, p.target, cx);
  CostWalk walk(p, cx, m);
  walk.walk(loops);
  return walk.ns;
}

}  // namespace calotype::autoscheduler
