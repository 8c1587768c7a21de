// Func::in, Func::clone_in, ImageParam::in and Stage::rfactor: record the directive and return a handle. The handle is a
// FunctionBody like any other, with directives of its own, but no definition of the program: the Func that it stands for
// is made where schedules are applied (schedule/make_funcs.h).
#include <algorithm>

#include "internal.h"
#include "param.h"

namespace calotype {

using schedule::Arg;
using schedule::DirectiveKind;

namespace lang {

ImageParameter::~ImageParameter() = default;

namespace {

std::vector<Arg> reader_args(const std::vector<Func> &readers, SrcLoc at) {
  std::vector<Arg> args;
  for (const Func &f : readers) args.push_back(Arg::function(f.function()->id, {}, at));
  return schedule::one_or_list(std::move(args));
}

std::string request_text(DirectiveKind kind, const std::vector<Func> &readers) {
  std::vector<uint64_t> ids;
  for (const Func &f : readers) ids.push_back(f.function()->id);
  std::sort(ids.begin(), ids.end());
  std::string text = schedule::directive_name(kind);
  for (uint64_t id : ids) text += " " + std::to_string(id);
  return text;
}

Ref<ir::FunctionBody> new_handle(std::string request, const std::vector<ir::Name> &args,
                                 const std::vector<Type> &types, SrcLoc at) {
  Ref<ir::FunctionBody> body = new ir::FunctionBody;
  body->id = next_id();
  body->loc = at;
  body->args = args;
  body->types = types;
  body->frozen = true;
  ir::Definition d;
  d.loc = at;
  for (ir::Name n : args) d.args.push_back(ir::make_var(n));
  body->definitions.push_back(d);
  directives_of(*body).request = std::move(request);
  return body;
}

// The handle that the same request made before, or a new one with its directive.
Func made_by(Directives &list, schedule::Directive d, std::string request, bool again,
             const std::vector<ir::Name> &args, const std::vector<Type> &types) {
  note_position(d.loc);
  for (const Ref<ir::FunctionBody> &old : list.made) {
    if (again && directives_of(*old).request == request) return Func(old);
  }
  Ref<ir::FunctionBody> body = new_handle(std::move(request), args, types, d.loc);
  d.made_id = body->id;
  d.sequence = next_id();
  list.list.push_back(std::move(d));
  list.made.push_back(body);
  list.version = next_id();
  return Func(body);
}

Func wrap(const Ref<RefCounted> &subject, DirectiveKind kind, const std::vector<Func> &readers,
          SrcLoc at) {
  ir::FunctionBody &f = body_of(subject);
  if (!f.defined()) {
    raise(Diagnostic("L0201", at,
                     std::string(schedule::directive_name(kind)) + " of " + shown_name(f) +
                         " before it is defined")
              .because("the Func", f.loc));
  }
  schedule::Directive d;
  d.kind = kind;
  d.func_id = f.id;
  d.func_loc = f.loc;
  d.loc = at;
  d.args = reader_args(readers, at);
  Func made =
      made_by(directives_of(f), std::move(d), request_text(kind, readers), true, f.args, f.types);
  // A clone can be scheduled as the Func can.
  ir::FunctionBody &body = *made.function();
  for (size_t i = 1; kind == DirectiveKind::clone_in && i < f.definitions.size(); i++) {
    if (body.definitions.size() > i) continue;
    ir::Definition update;
    update.args = f.definitions[i].args;
    update.rvars = f.definitions[i].rvars;
    update.loc = at;
    body.definitions.push_back(std::move(update));
  }
  return made;
}

Func wrap_image(const Ref<ir::Parameter> &param, const std::vector<Func> &readers, SrcLoc at) {
  auto *image = dynamic_cast<ImageParameter *>(param.get());
  if (!image) raise(Diagnostic("L0401", at, "in() of a parameter that was never made"));
  if (!image->directives) image->directives = new Directives;
  schedule::Directive d;
  d.kind = DirectiveKind::in;
  d.func = image->name;
  d.func_loc = image->loc;
  d.loc = at;
  d.args = reader_args(readers, at);
  std::vector<ir::Name> args;
  for (int i = 0; i < image->dimensions; i++) args.push_back(Var::implicit(i).name());
  return made_by(*image->directives, std::move(d), request_text(d.kind, readers), true, args,
                 {image->type});
}

}  // namespace

bool is_handle(const ir::FunctionBody &f) {
  return f.attachment && !static_cast<const Directives *>(f.attachment.get())->request.empty();
}

}  // namespace lang

Func Func::in(const Func &consumer, SrcLoc at) {
  return lang::wrap(body_, DirectiveKind::in, {consumer}, at);
}
Func Func::in(const std::vector<Func> &consumers, SrcLoc at) {
  return lang::wrap(body_, DirectiveKind::in, consumers, at);
}
Func Func::in(SrcLoc at) { return lang::wrap(body_, DirectiveKind::in, {}, at); }
Func Func::clone_in(const Func &consumer, SrcLoc at) {
  return lang::wrap(body_, DirectiveKind::clone_in, {consumer}, at);
}
Func Func::clone_in(const std::vector<Func> &consumers, SrcLoc at) {
  return lang::wrap(body_, DirectiveKind::clone_in, consumers, at);
}

Func ImageParam::in(SrcLoc at) const { return lang::wrap_image(param_, {}, at); }
Func ImageParam::in(const Func &consumer, SrcLoc at) const {
  return lang::wrap_image(param_, {consumer}, at);
}
Func ImageParam::in(const std::vector<Func> &consumers, SrcLoc at) const {
  return lang::wrap_image(param_, consumers, at);
}

Func Stage::rfactor(const std::vector<std::pair<RVar, Var>> &preserved, SrcLoc at) {
  ir::FunctionBody &f = lang::body_of(body_);
  schedule::Directive d;
  d.kind = DirectiveKind::rfactor;
  d.func_id = f.id;
  d.func_loc = f.loc;
  d.stage = index_;
  d.loc = at;
  std::vector<Arg> items;
  std::vector<ir::Name> args = f.args;
  for (const auto &[r, v] : preserved) {
    items.push_back(Arg::name(v.name(), at));
    items.back().key = r.name();
    args.push_back(v.name());
  }
  d.args = {Arg::list(std::move(items), at)};
  Func made = lang::made_by(lang::directives_of(f), std::move(d), "rfactor", false, args, f.types);
  if (index_ > 0) {  // its one update, for the directives on it
    ir::Definition update;
    update.args = made.function()->definitions[0].args;
    for (const ir::ReductionVariable &r : f.definitions[static_cast<size_t>(index_)].rvars) {
      const auto kept = [&](const auto &p) { return p.first.name() == r.var.str(); };
      if (std::none_of(preserved.begin(), preserved.end(), kept)) update.rvars.push_back(r);
    }
    update.loc = at;
    made.function()->definitions.push_back(std::move(update));
  }
  return made;
}
Func Stage::rfactor(const RVar &r, const Var &v, SrcLoc at) {
  return rfactor(std::vector<std::pair<RVar, Var>>{{r, v}}, at);
}

std::vector<Func> Stage::online(const VarOrRVar &block_loop, const std::vector<Func> &members) {
  ir::FunctionBody &f = lang::body_of(body_);
  lang::note_position(block_loop.loc);
  schedule::Directive d;
  d.kind = DirectiveKind::online;
  d.func_id = f.id;
  d.func_loc = f.loc;
  d.stage = index_;
  d.loc = block_loop.loc;
  std::vector<Arg> items;
  std::vector<Func> all = members;
  for (const Func &m : members)
    items.push_back(Arg::function(m.function()->id, {}, block_loop.loc));
  all.emplace_back(Ref<ir::FunctionBody>(&f));
  d.args = {Arg::name(block_loop.text, block_loop.loc),
            Arg::list(std::move(items), block_loop.loc)};
  lang::Directives &list = lang::directives_of(f);
  std::vector<Func> made;
  for (const char *kind : {"part", "state"}) {
    for (const Func &m : all) {
      std::vector<ir::Name> args = m.function()->args;
      args.push_back(std::string("$online.") + kind);
      const Ref<ir::FunctionBody> body =
          lang::new_handle(std::string("online ") + kind, args, m.function()->types, d.loc);
      ir::Definition update;  // for the directives on it
      update.args = body->definitions[0].args;
      if (!f.definitions.empty() && index_ < static_cast<int>(f.definitions.size()))
        update.rvars = f.definitions[static_cast<size_t>(index_)].rvars;
      update.loc = d.loc;
      body->definitions.push_back(std::move(update));
      d.online_ids.push_back(body->id);
      list.made.push_back(body);
      made.emplace_back(body);
    }
  }
  d.sequence = lang::next_id();
  list.list.push_back(std::move(d));
  list.version = lang::next_id();
  return made;
}

}  // namespace calotype
