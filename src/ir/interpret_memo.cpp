// Pages found by a hash of their coordinates; see interpret_memo.h.
#include "interpret_memo.h"

#include <cstring>

namespace calotype::ir::interpreter {

namespace {
// 512 points: large enough to amortise the lookup along a row, small enough for scattered access.
constexpr int kLogPage = 9;
constexpr int kLogRows = 3;
}  // namespace

Memo::Memo(int dimensions, const std::vector<Type> &types) : dimensions_(dimensions) {
  if (dimensions == 1) bits_[0] = kLogPage;
  if (dimensions > 1) {
    bits_[0] = kLogPage - kLogRows;
    bits_[1] = kLogRows;
  }
  const size_t points = size_t(1) << (bits_[0] + bits_[1]);
  bytes_ = (points + 7) / 8 * 8;
  for (const Type &t : types) {
    sizes_.push_back(scalar_size(scalar_of(t)));
    starts_.push_back(bytes_);
    bytes_ += (points * sizes_.back() + 7) / 8 * 8;
  }
}

Page *Memo::find(const int32_t *const *at, int i) {
  uint64_t hash = 0;
  for (int d = 0; d < dimensions_; d++) {
    const uint32_t x = static_cast<uint32_t>(at[d][i] >> (d < 2 ? bits_[d] : 0));
    hash = (hash ^ x) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  Page *&first = by_hash_[hash];
  for (Page *p = first; p; p = p->next) {
    bool same = true;
    for (int d = 0; d < dimensions_; d++)
      same = same && p->at[d] == at[d][i] >> (d < 2 ? bits_[d] : 0);
    if (same) return last_ = p;
  }
  auto page = std::make_unique<Page>();
  for (int d = 0; d < dimensions_; d++) page->at.push_back(at[d][i] >> (d < 2 ? bits_[d] : 0));
  page->data = std::make_unique<char[]>(bytes_);  // zeros: Known::No
  page->next = first;
  first = page.get();
  pages_.push_back(std::move(page));
  return last_ = first;
}

}  // namespace calotype::ir::interpreter
