// The table of interned names.
#include "name.h"

#include <mutex>
#include <ostream>
#include <unordered_set>

namespace calotype::ir {

namespace {
const std::string *intern(const std::string &text) {
  static std::mutex mutex;
  static auto *table =
      new std::unordered_set<std::string>();  // never destroyed: names outlive statics
  std::lock_guard<std::mutex> lock(mutex);
  return &*table->insert(text).first;  // unordered_set never moves its elements
}
}  // namespace

Name::Name() {
  static const std::string *empty = intern("");
  text_ = empty;
}

std::ostream &operator<<(std::ostream &o, Name n) { return o << n.str(); }

Name::Name(const std::string &text) : text_(intern(text)) {}

}  // namespace calotype::ir
