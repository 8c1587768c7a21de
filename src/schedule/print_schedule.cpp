// Prints a schedule in the canonical form of schedule files: head lines, then one chain per run of directives on one
// stage, broken before a directive where a line would grow over the limit. Tests: test/unit/schedule/text_test.cpp.
#include "../ir/equal.h"
#include "loop_state.h"
#include "text.h"
#include "value_text.h"

namespace calotype::schedule {

namespace {

constexpr size_t kLineLimit = 100;

std::string quoted(const std::string &s) {
  std::string text = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string arg_text(const Arg &a, bool in_list);

std::string items_text(const std::vector<Arg> &items, bool in_list) {
  std::string text;
  for (size_t i = 0; i < items.size(); i++) text += (i ? ", " : "") + arg_text(items[i], in_list);
  return text;
}

std::string level_text(const Arg &a) {
  if (a.func.empty()) return a.text;
  const std::string func = a.stage < 0 ? a.func : stage_name(a.func, a.stage);
  return a.text.empty() ? func : func + ", " + a.text;
}

std::string arg_text(const Arg &a, bool in_list) {
  const std::string key = a.key.empty() ? std::string() : a.key + (in_list ? ": " : "=");
  switch (a.kind) {
    case Arg::Kind::Name:
    case Arg::Kind::Enum: return key + a.text;
    case Arg::Kind::Expr: return key + value_text(a.expr, ValueStyle::Schedule);
    case Arg::Kind::List: return key + "{" + items_text(a.items, true) + "}";
    case Arg::Kind::Level: return key + level_text(a);
    case Arg::Kind::String: return key + quoted(a.text);
    case Arg::Kind::Func: return key + a.func;
  }
  return key;
}

bool same_conditions(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (!ir::equal(a[i], b[i])) return false;
  }
  return true;
}

std::string head_text(const Schedule &s) {
  std::string text = "calotype 1\n";
  if (!s.pipeline.empty()) text += "pipeline " + s.pipeline + "\n";
  if (!s.target.empty()) text += "target " + s.target + "\n";
  for (const auto &w : s.when) text += "when " + w.first + " == " + w.second + "\n";
  if (s.base_embedded) text += "base embedded\n";
  for (const auto &let : s.lets)
    text += "let " + let.first + " = " + value_text(let.second, ValueStyle::Schedule) + "\n";
  return text;
}

}  // namespace

std::string print_schedule(const Schedule &s) {
  std::string text = head_text(s);
  std::string line;
  const Directive *last = nullptr;
  std::vector<Expr> under;
  for (const Directive &d : s.directives) {
    const std::string call =
        std::string(".") + directive_name(d.kind) + "(" + items_text(d.args, false) + ")";
    if (!d.made.empty()) {  // a statement of its own
      if (last) text += line + "\n";
      text += "let " + d.made + " = " + stage_name(d.func, d.stage) + call + "\n";
      last = nullptr;
      continue;
    }
    if (last && last->func == d.func && last->stage == d.stage && same_conditions(under, d.under)) {
      if (line.size() + call.size() > kLineLimit) {
        text += line + "\n";
        line = "   ";
        line += " " + call;
      } else {
        line += call;
      }
    } else {
      if (last) text += line + "\n";
      line = stage_name(d.func, d.stage);
      for (const Expr &c : d.under)
        line += ".specialize(" + value_text(c, ValueStyle::Schedule) + ")";
      line += call;
    }
    last = &d;
    under = d.under;  // what follows specialize(c) in a chain is said of the specialization
    if (d.kind == DirectiveKind::specialize && d.args.size() == 1) under.push_back(d.args[0].expr);
  }
  if (last) text += line + "\n";
  return text;
}

}  // namespace calotype::schedule
