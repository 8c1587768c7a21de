// See reduce.h. Each pass tries removals of one kind and keeps those after which the case still fails.
#include "reduce.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "../base/diagnostic.h"
#include "../ir/parse.h"
#include "../ir/print.h"
#include "../ir/verify.h"
#include "../ir/visit.h"

namespace calotype::driver {

using namespace ir;  // makers

namespace {

std::vector<std::string> lines_of(const std::string &s) {
  std::vector<std::string> lines;
  std::istringstream in(s);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::string joined(const std::vector<std::string> &lines) {
  std::string s;
  for (const std::string &line : lines) s += line + "\n";
  return s;
}

class Reducer {
public:
  Reducer(FailingCase c, const std::function<bool(const FailingCase &)> &fails, int seconds)
      : best_(std::move(c)),
        fails_(fails),
        end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {}

  FailingCase run() {
    for (bool changed = true; changed && !late();) {
      changed = drop_runs();
      changed |= drop_directives();
      if (!best_.program.empty()) {
        changed |= drop_outputs();
        changed |= drop_definitions();
        changed |= simplify_values();
        changed |= drop_params();
      }
      changed |= smaller_runs();
      changed |= smaller_arguments();
    }
    return best_;
  }

private:
  bool late() const { return std::chrono::steady_clock::now() > end_; }
  bool keep(const FailingCase &c) {
    if (late() || !fails_(c)) return false;
    best_ = c;
    return true;
  }
  bool keep(const Program &p) {
    if (!verify(p).empty()) return false;
    FailingCase c = best_;
    c.program = to_string(p);
    return keep(c);
  }

  bool drop_runs() {
    bool changed = false;
    for (size_t i = best_.runs.size(); i-- > 0 && best_.runs.size() > 1;) {
      FailingCase c = best_;
      c.runs.erase(c.runs.begin() + static_cast<long>(i));
      changed |= keep(c);
    }
    return changed;
  }

  // Half of the lines at once, then a quarter ... from the end, as later directives build on earlier ones. The first line
  // says that it is a schedule.
  bool drop_directives() {
    bool changed = false;
    for (size_t size = std::max<size_t>(1, lines_of(best_.schedule).size() / 2); size > 0;
         size /= 2) {
      for (size_t i = lines_of(best_.schedule).size(); i-- > 1;) {
        std::vector<std::string> lines = lines_of(best_.schedule);
        if (i + size > lines.size()) continue;
        lines.erase(lines.begin() + static_cast<long>(i),
                    lines.begin() + static_cast<long>(i + size));
        FailingCase c = best_;
        c.schedule = joined(lines);
        changed |= keep(c);
      }
    }
    return changed;
  }

  // ---- the program ---------------------------------------------------------------------------------
  bool drop_outputs() {
    bool changed = false;
    for (size_t i = 0; i < parse_program(best_.program).outputs.size(); i++) {
      Program p = parse_program(best_.program);
      if (p.outputs.size() < 2) break;
      p.outputs.erase(p.outputs.begin() + static_cast<long>(i));
      changed |= keep(without_unread(p));
    }
    return changed;
  }
  bool drop_definitions() {
    bool changed = false;
    Program now = parse_program(best_.program);
    for (size_t f = now.funcs.size(); f-- > 0;) {
      for (size_t k = f < now.funcs.size() ? now.funcs[f].definitions.size() : 0; k-- > 1;) {
        for (bool whole : {true, false}) {
          Program p = parse_program(best_.program);
          if (f >= p.funcs.size() || k >= p.funcs[f].definitions.size()) continue;
          Definition &d = p.funcs[f].definitions[k];
          if (!whole && !d.predicate.defined()) continue;
          if (whole) {
            p.funcs[f].definitions.erase(p.funcs[f].definitions.begin() + static_cast<long>(k));
          } else {
            d.predicate = Expr();
          }
          changed |= keep(without_unread(p));
        }
      }
      now = parse_program(best_.program);
    }
    return changed;
  }

  static Program without_unread(const Program &p) {
    Program r;
    r.name = p.name;
    r.params = p.params;
    r.outputs = p.outputs;
    std::vector<Name> read = p.outputs;
    for (size_t i = p.funcs.size(); i-- > 0;) {
      bool needed = false;
      for (Name n : read) needed |= n == p.funcs[i].name;
      if (!needed) continue;
      for (const Definition &d : p.funcs[i].definitions) {
        for (Name n : called_funcs(d)) read.push_back(n);
      }
      r.funcs.insert(r.funcs.begin(), p.funcs[i]);
    }
    return r;
  }

  bool drop_params() {
    bool changed = false;
    for (size_t i = parse_program(best_.program).params.size(); i-- > 0;) {
      Program p = parse_program(best_.program);
      std::string name = p.params[i]->name;
      p.params.erase(p.params.begin() + static_cast<long>(i));
      std::string text = to_string(p);
      if (text.find("@" + name) != std::string::npos) continue;
      changed |= keep(p);
    }
    return changed;
  }

  // Every expression of a program: right sides, left sides, predicates.
  static std::vector<Expr *> slots(Program &p) {
    std::vector<Expr *> all;
    for (Function &f : p.funcs) {
      for (size_t k = 0; k < f.definitions.size(); k++) {
        Definition &d = f.definitions[k];
        for (Expr &e : d.values) all.push_back(&e);
        if (d.predicate.defined()) all.push_back(&d.predicate);
        if (k > 0) {
          for (Expr &e : d.args) all.push_back(&e);
        }
      }
    }
    return all;
  }

  class Replacer final : public IRMutator {
  public:
    Replacer(int position, Expr by) : position_(position), by_(std::move(by)) {}
    Expr mutate(const Expr &e) override {
      if (count_++ == position_) return by_;
      return IRMutator::mutate(e);
    }

  private:
    int position_, count_ = 0;
    Expr by_;
  };
  // Sub-expressions in the order that Replacer counts them.
  class Lister final : public IRMutator {
  public:
    std::vector<Expr> found;
    Expr mutate(const Expr &e) override {
      found.push_back(e);
      return IRMutator::mutate(e);
    }
  };
  static std::vector<Expr> list(const Expr &e) {
    Lister l;
    l.mutate(e);
    return l.found;
  }

  bool try_replace(size_t slot, int position, const Expr &by) {
    Program p = parse_program(best_.program);
    Expr *e = slots(p)[slot];
    *e = Replacer(position, by).mutate(*e);
    return keep(without_unread(p));
  }

  bool simplify_values() {
    bool changed = false;
    Program now = parse_program(best_.program);
    size_t n = slots(now).size();
    for (size_t slot = 0; slot < n && !late(); slot++) {
      for (int position = 0; !late(); position++) {
        Program p = parse_program(best_.program);
        if (slot >= slots(p).size()) break;
        std::vector<Expr> parts = list(*slots(p)[slot]);
        if (position >= static_cast<int>(parts.size())) break;
        const Expr &e = parts[static_cast<size_t>(position)];
        std::vector<Expr> tries;
        bool leaf = is_const(e) || e.as<Variable>();
        if (!leaf) {
          std::vector<Expr> inner = list(e);
          if (!e.type().is_handle() && inner.size() > 1) tries.push_back(make_const(e.type(), 1));
          for (size_t k = 1; k < inner.size() && tries.size() < 6; k++) {
            if (inner[k].type() == e.type()) tries.push_back(inner[k]);
          }
        }
        for (const Expr &by : tries) {
          if (equal_text(by, e)) continue;
          if (try_replace(slot, position, by)) {
            changed = true;
            position--;
            break;
          }
        }
      }
    }
    return changed;
  }
  static bool equal_text(const Expr &a, const Expr &b) { return to_string(a) == to_string(b); }

  // ---- sizes -----------------------------------------------------------------------------------------
  // Small ones first; the first that still fails is kept.
  template <typename Set> bool smaller(int now, const Set &set) {
    for (int n : {0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 33, 64, 65}) {
      if (n >= now) break;
      FailingCase c = best_;
      set(c, n);
      if (keep(c)) return true;
    }
    return false;
  }

  bool smaller_runs() {
    bool changed = false;
    for (size_t r = 0; r < best_.runs.size(); r++) {
      for (size_t d = 0; d < best_.runs[r].mins.size(); d++) {
        FailingCase c = best_;
        c.runs[r].mins[d] = 0;
        if (best_.runs[r].mins[d] != 0) changed |= keep(c);
        changed |= smaller(best_.runs[r].extents[d],
                           [&](FailingCase &to, int n) { to.runs[r].extents[d] = n; });
      }
      for (const auto &setting : FailingRun(best_.runs[r]).settings) {
        if (setting.first == "seed") continue;
        FailingCase c = best_;
        c.runs[r].settings.erase(setting.first);
        changed |= keep(c);
      }
    }
    return changed;
  }

  // Numbers between brackets: [640,480,3].
  bool smaller_arguments() {
    bool changed = false;
    for (size_t a = 0; a < best_.arguments.size(); a++) {
      for (size_t at = 0; at < best_.arguments[a].size(); at++) {
        const std::string &word = best_.arguments[a];
        const size_t open = word.rfind('[', at), close = word.find(']', at);
        const auto digit = [&](size_t i) { return word[i] >= '0' && word[i] <= '9'; };
        if (open == std::string::npos || close == std::string::npos || at == 0 || !digit(at) ||
            digit(at - 1) || word.find(']', open) != close)
          continue;
        size_t length = 1;
        while (at + length < word.size() && digit(at + length)) length++;
        if (length > 9) continue;
        changed |= smaller(std::stoi(word.substr(at, length)), [&](FailingCase &to, int n) {
          to.arguments[a].replace(at, length, std::to_string(n));
        });
      }
    }
    return changed;
  }

  FailingCase best_;
  const std::function<bool(const FailingCase &)> &fails_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

FailingCase reduce(FailingCase c, const std::function<bool(const FailingCase &)> &fails,
                   int seconds) {
  return Reducer(std::move(c), fails, seconds).run();
}

}  // namespace calotype::driver
