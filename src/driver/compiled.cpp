// See compiled.h.
#include "compiled.h"

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "../runtime/runtime.h"
#include "../schedule/apply.h"

namespace calotype::driver {

schedule::Schedule effective_schedule(const schedule::Schedule &embedded,
                                      const schedule::Schedule &file) {
  schedule::Schedule result = file;
  if (!file.base_embedded) return result;
  result.base_embedded = false;  // resolved: the list is complete now
  result.lets = embedded.lets;
  result.lets.insert(result.lets.end(), file.lets.begin(), file.lets.end());
  result.let_locs.insert(embedded.let_locs.begin(), embedded.let_locs.end());
  result.directives = embedded.directives;
  result.directives.insert(result.directives.end(), file.directives.begin(), file.directives.end());
  return result;
}

void raise_runtime_error(const void *cx, int code) {
  const runtime::RuntimeError e = static_cast<const runtime::JitContext *>(cx)->error();
  if (e.code == 0) {
    raise(Diagnostic("R0106", {}, "the pipeline failed with code " + std::to_string(code)));
  }
  Diagnostic d(e.diagnostic(), {}, e.what);
  const std::string where = e.where;
  const size_t colon = where.rfind(':');
  if (colon != std::string::npos) {
    d.loc = SrcLoc{intern_path(where.substr(0, colon)), std::atoi(where.c_str() + colon + 1)};
  }
  if (!e.why.empty()) d.why.push_back({e.why, {}});
  if (!e.help.empty()) d.help.push_back(e.help);
  raise(std::move(d));
}

Compiled::Compiled(const ir::Program &p, const schedule::Schedule &s, const Target &t, bool keep,
                   const codegen::ForeignSymbols &externs)
    : target_(t) {
  run_on_large_stack([&] {
    const schedule::Scheduled scheduled = schedule::apply(p, s, t, s.origin.empty());
    reordered_ = scheduled.reordered;
    function_ = lower::lower(scheduled, t);
    code_ = codegen::compile_jit(function_, t, keep, externs);
  });
}

void Compiled::run(const std::vector<const void *> &args) const {
  runtime::JitContext cx;
  run(args, &cx);
}

void Compiled::run(const std::vector<const void *> &args, void *cx) const {
  CALO_ASSERT(args.size() == function_.args.size(), "wrong number of arguments in a call");
  std::vector<const void *> all = args;
  for (const ir::ParameterRef &image : function_.embedded) all.push_back(image->buffer->raw());
  const int code = code_.call(cx, all.data());
  if (code == 0 || static_cast<runtime::JitContext *>(cx)->handlers.error) return;
  raise_runtime_error(cx, code);
}

}  // namespace calotype::driver
