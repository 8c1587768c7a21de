// Destruction of reference-counted objects without recursion (see ref.h).
#include "ref.h"

#include <vector>

namespace calotype {

RefCounted::~RefCounted() = default;

namespace {
struct Graveyard {
  bool busy = false;
  std::vector<const RefCounted *> waiting;
};
thread_local Graveyard graveyard;
}  // namespace

void RefCounted::destroy(const RefCounted *object) {
  Graveyard &g = graveyard;
  if (g.busy) {
    g.waiting.push_back(object);
    return;
  }
  g.busy = true;
  delete object;
  while (!g.waiting.empty()) {
    const RefCounted *next = g.waiting.back();
    g.waiting.pop_back();
    delete next;
  }
  g.busy = false;
}

}  // namespace calotype
