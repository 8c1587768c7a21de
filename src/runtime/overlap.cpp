// Whether a buffer lies on itself: an output that does has no defined contents.
//
// Two elements share an address where the strides, times the differences of their coordinates, add up to 0. Sorted by
// stride, a layout in which each stride passes the reach of all smaller ones has no such pair: every usual layout ends
// there. For the others (interlocking strides as 2 and 3) the differences are searched, within a fixed effort.
#include "runtime.h"

namespace calotype::runtime {
namespace {

constexpr int kMostDims = 60;  // of extent 2 and more in less than 2^60 elements, without overlap
constexpr int kMostSteps = 1 << 18;  // of a search: about a millisecond

struct Dim {
  int64_t stride, steps;  // stride >= 0; coordinates differ by at most `steps`
  int64_t reach;          // of this dimension and those of smaller stride
};

class Layout {
public:
  explicit Layout(const halide_buffer_t &b) {
    for (int d = 0; d < b.dimensions; d++) {
      const int64_t stride = b.dim[d].stride, extent = b.dim[d].extent;
      if (extent <= 0) empty_ = true;
      if (extent <= 1) continue;
      if (count_ == kMostDims) {
        crowded_ = true;
        continue;
      }
      insert({stride < 0 ? -stride : stride, extent - 1, 0});
    }
    int64_t reach = 0;
    for (int i = 0; i < count_; i++) {
      if (dims_[i].stride <= reach) nested_ = false;
      if (dims_[i].stride == 0) crowded_ = true;
      reach += dims_[i].stride * dims_[i].steps;
      dims_[i].reach = reach;
    }
  }

  bool overlaps() {
    if (empty_) return false;
    if (crowded_) return true;
    return !nested_ && meets(count_ - 1, 0, true);
  }

private:
  void insert(const Dim &dim) {
    int i = count_++;
    for (; i > 0 && dims_[i - 1].stride > dim.stride; i--) dims_[i] = dims_[i - 1];
    dims_[i] = dim;
  }

  // Whether differences in dimensions 0 .. i add up to `sum`, other than all 0 where `zero_so_far`; true where the
  // search takes too long. A difference and its negative are one pair: the first that is not 0 is positive.
  bool meets(int i, int64_t sum, bool zero_so_far) {
    if (i < 0) return sum == 0 && !zero_so_far;
    const int64_t stride = dims_[i].stride, rest = i > 0 ? dims_[i - 1].reach : 0;
    int64_t low = ceil_div(sum - rest, stride), high = -ceil_div(-(sum + rest), stride);
    if (low < -dims_[i].steps) low = -dims_[i].steps;
    if (high > dims_[i].steps) high = dims_[i].steps;
    if (zero_so_far && low < 0) low = 0;
    for (int64_t n = low; n <= high; n++) {
      if (++steps_ > kMostSteps) return true;
      if (meets(i - 1, sum - n * stride, zero_so_far && n == 0)) return true;
    }
    return false;
  }

  static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

  Dim dims_[kMostDims];
  int count_ = 0, steps_ = 0;
  bool empty_ = false, crowded_ = false, nested_ = true;
};

}  // namespace
}  // namespace calotype::runtime

bool calo_overlaps_itself(const void *buffer) {
  return calotype::runtime::Layout(*static_cast<const halide_buffer_t *>(buffer)).overlaps();
}
