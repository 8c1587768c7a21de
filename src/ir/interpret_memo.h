// Internal to the interpreter: the values of a Func known so far, by coordinates, in pages of a sparse grid.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interpret_ops.h"

namespace calotype::ir::interpreter {

enum class Known : uint8_t { No, Asked, Yes };

/// A piece of the grid: kPageElements points, each with a state and one value per Tuple element.
struct Page {
  std::vector<int32_t> at;  ///< coordinates divided by the page's extents
  std::unique_ptr<char[]> data;
  Page *next = nullptr;  ///< another page of the same hash
};
/// Where a point is.
struct Place {
  Page *page;
  int offset;
};

class Memo {
public:
  Memo(int dimensions, const std::vector<Type> &types);

  /// The point at lane i; makes its page if there is none. Fast when consecutive calls stay in one page.
  Place place(const int32_t *const *at, int i) {
    Page *p = last_;
    int offset = 0;
    bool same = p != nullptr;
    for (int d = 0; d < dimensions_; d++) {
      const int32_t x = at[d][i];
      const int bits = d < 2 ? bits_[d] : 0;
      same = same && p->at[d] == x >> bits;
      if (d < 2) offset |= (x & ((1 << bits) - 1)) << (d == 1 ? bits_[0] : 0);
    }
    return {same ? p : find(at, i), offset};
  }
  Known &state(const Place &p) { return *reinterpret_cast<Known *>(p.page->data.get() + p.offset); }
  char *value(const Place &p, int element) {
    return p.page->data.get() + starts_[element] + static_cast<size_t>(p.offset) * sizes_[element];
  }
  int size(int element) const { return sizes_[element]; }
  int elements() const { return static_cast<int>(sizes_.size()); }

private:
  Page *find(const int32_t *const *at, int i);

  int dimensions_;
  int bits_[2] = {0, 0};        // log2 of a page's extents in dimensions 0 and 1; 1 in all others
  size_t bytes_ = 0;            // of a page
  std::vector<size_t> starts_;  // of each Tuple element's values in a page, behind the states
  std::vector<int> sizes_;
  Page *last_ = nullptr;
  std::unordered_map<uint64_t, Page *> by_hash_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace calotype::ir::interpreter
