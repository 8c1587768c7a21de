// Groups of stages in shared loops (see loop_groups.h). Tests: test/unit/lower/compute_with_test.cpp.
#include "loop_groups.h"

#include <algorithm>
#include <set>

namespace calotype::schedule {

namespace {

using ir::Name;

const SharedLoops &shared_of(const ScheduleState &state, Name func, int stage) {
  return state.of(func).stages[stage].shared;
}

// Outermost loops of a stage down to `var`; 0: it has no such loop.
int depth_of(const ir::Program &p, const ScheduleState &state, Name func, int stage, Name var) {
  const std::vector<Loop> &loops = state.of(func).stages[stage].loops;
  const int i = find_loop(*p.find(func), loops, var);
  return i < 0 ? 0 : static_cast<int>(loops.size()) - i;
}

}  // namespace

std::vector<GroupMember> group_of(const ir::Program &p, const ScheduleState &state, Name func,
                                  int stage) {
  const SharedLoops &own = shared_of(state, func, stage);
  const Name leader = own.defined() ? own.func : func;
  const int leader_stage = own.defined() ? own.stage : stage;
  std::vector<GroupMember> members{{leader, leader_stage, 0}};
  for (const ir::Function &f : p.funcs) {
    for (int k = 0; k < f.stages(); k++) {
      const SharedLoops &s = shared_of(state, f.name, k);
      if (s.defined() && s.func == leader && s.stage == leader_stage)
        members.push_back({f.name, k, depth_of(p, state, f.name, k, s.var)});
    }
  }
  for (const GroupMember &m : members) members[0].depth = std::max(members[0].depth, m.depth);
  return members;
}

bool runs_in_order(const ir::Program &, const ScheduleState &state,
                   const std::vector<GroupMember> &group) {
  return group.size() > 1 && shared_of(state, group[1].func, group[1].stage).in_order;
}

std::unordered_map<Name, std::vector<Name>> funcs_between(const ir::Program &p,
                                                          const ScheduleState &state) {
  std::unordered_map<Name, std::vector<Name>> between;
  for (const ir::Function &member : p.funcs) {
    for (int k = 0; k < member.stages(); k++) {
      if (!shared_of(state, member.name, k).in_order) continue;
      const std::vector<GroupMember> group = group_of(p, state, member.name, k);
      if (group.back().func != member.name) continue;
      std::set<Name> members, after, before;  // what reads a member; what a member reads
      for (const GroupMember &m : group) members.insert(m.func);
      const auto reads_any = [&](const ir::Function &f, const std::set<Name> &set) {
        for (const ir::Definition &d : f.definitions) {
          for (Name read : ir::called_funcs(d)) {
            if (read != f.name && set.count(read)) return true;
          }
        }
        return false;
      };
      after = members;
      for (const ir::Function &f : p.funcs) {
        if (reads_any(f, after)) after.insert(f.name);
      }
      before = members;
      for (size_t i = p.funcs.size(); i-- > 0;) {
        const ir::Function &f = p.funcs[i];
        if (!before.count(f.name)) continue;
        for (const ir::Definition &d : f.definitions) {
          for (Name read : ir::called_funcs(d)) before.insert(read);
        }
      }
      for (const ir::Function &f : p.funcs) {
        if (after.count(f.name) && before.count(f.name) && !members.count(f.name))
          between[group.back().func].push_back(f.name);
      }
    }
  }
  return between;
}

std::vector<Name> funcs_sharing(const ir::Program &p, const ScheduleState &state, Name func) {
  std::set<Name> found{func};
  std::vector<Name> work{func};
  while (!work.empty()) {
    const Name f = work.back();
    work.pop_back();
    for (int k = 0; k < p.find(f)->stages(); k++) {
      for (const GroupMember &m : group_of(p, state, f, k)) {
        if (found.insert(m.func).second) work.push_back(m.func);
      }
    }
  }
  std::vector<Name> funcs;
  for (const ir::Function &f : p.funcs) {
    if (found.count(f.name)) funcs.push_back(f.name);
  }
  return funcs;
}

std::vector<std::vector<GroupMember>> order_of_stages(const ir::Program &p,
                                                      const ScheduleState &state,
                                                      const std::vector<Name> &funcs) {
  std::vector<std::vector<GroupMember>> order;
  std::vector<int> next(funcs.size(), 0);  // of each Func: the stage to run
  const auto place_of = [&](const GroupMember &m) {
    return static_cast<size_t>(std::find(funcs.begin(), funcs.end(), m.func) - funcs.begin());
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < funcs.size(); i++) {
      if (next[i] >= p.find(funcs[i])->stages()) continue;
      std::vector<GroupMember> item;
      bool ready = true;
      for (const GroupMember &m : group_of(p, state, funcs[i], next[i])) {
        if (place_of(m) == funcs.size()) continue;  // not computed here
        ready = ready && next[place_of(m)] == m.stage;
        item.push_back(m);
      }
      if (!ready) continue;
      for (const GroupMember &m : item) next[place_of(m)]++;
      order.push_back(std::move(item));
      moved = true;
    }
  }
  for (size_t i = 0; i < funcs.size(); i++) {
    if (next[i] < p.find(funcs[i])->stages()) return {};
  }
  return order;
}

std::vector<const ir::Function *> grouped_order(const ir::Program &p, const ScheduleState &state) {
  std::vector<const ir::Function *> order;
  std::set<Name> done;
  std::unordered_map<Name, Name> in_group;  // Funcs between members -> one of these
  for (const auto &[last, names] : funcs_between(p, state)) {
    for (Name n : names) in_group[n] = last;
  }
  // All that must stand together with a Func.
  const auto together = [&](Name func) {
    const auto at = in_group.find(func);
    std::vector<Name> funcs = funcs_sharing(p, state, at == in_group.end() ? func : at->second);
    std::set<Name> all(funcs.begin(), funcs.end());
    for (const auto &[between, last] : in_group) {
      if (all.count(last)) all.insert(between);
    }
    if (all.size() == funcs.size()) return funcs;
    funcs.clear();
    for (const ir::Function &f : p.funcs) {
      if (all.count(f.name)) funcs.push_back(f.name);
    }
    return funcs;
  };
  // All that the group's members read comes before the group.
  std::vector<std::pair<Name, bool>> work;
  for (size_t i = p.funcs.size(); i-- > 0;) work.emplace_back(p.funcs[i].name, false);
  std::set<Name> open;
  while (!work.empty()) {
    const auto [name, ready] = work.back();
    work.pop_back();
    if (done.count(name)) continue;
    const std::vector<Name> group = together(name);
    if (ready) {
      for (Name m : group) {
        if (done.insert(m).second) order.push_back(p.find(m));
      }
      continue;
    }
    if (!open.insert(name).second) continue;  // a cycle, which placement refuses
    work.emplace_back(name, true);
    for (Name m : group) {
      open.insert(m);
      for (const ir::Definition &d : p.find(m)->definitions) {
        for (Name read : ir::called_funcs(d)) {
          if (p.find(read) && !done.count(read) && !open.count(read))
            work.emplace_back(read, false);
        }
      }
    }
  }
  return order;
}

}  // namespace calotype::schedule
