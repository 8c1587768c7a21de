// online: cascades of reductions in one pass, compiled, against the textbook's schedule and a float64 reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calotype.h"
#include "support/check_diag.h"

using namespace calotype;

namespace {

Var d("d"), k("k"), i("i"), h("h");

/// Row i may see key k where lo <= k <= i + hi.
struct Mask {
  int lo = 0, hi = 1 << 20;
  bool sees(int row, int key) const { return lo <= key && key <= row + hi; }
};
const Mask kMasks[] = {{}, {0, 0}, {70, 1 << 20}, {0, -1000}, {0, -3}, {199, 1 << 20}};

/// Scores of two heads, their maxima, sums and weighted sums, as a textbook has them.
struct Attention {
  ImageParam Q{Float(32), 3, "Q"}, K{Float(32), 3, "K"}, V{Float(32), 3, "V"};
  Param<int> lo{"lo"}, hi{"hi"};
  Func S{"S"}, X
  {"X"}, M{"M"}, P{"P"}, L{"L"}, O{"O"};
  RDom rk, rd;
  int keys, heads, width;
  std::vector<float> q, key, v;
  Pipeline pipeline;

  Attention(int queries, int keys_, int width_, int heads_ = 2, float size = 1)
      : keys(keys_), heads(heads_), width(width_) {
    rk = RDom(0, K.dim(1).extent(), "r");
    rd = RDom(0, Q.dim(0).extent(), "e");
    S(k, i, h) += Q(rd, i, h) * K(rd, k, h);
    X(k, i, h)
    = select(k >= lo && k <= i + hi, S(k, i, h), -INFINITY);
    M(i, h) = -INFINITY;
    M(i, h) = max(M(i, h), X(rk, i, h));
    P(k, i, h) = exp(X(k, i, h) - M(i, h));
    L(i, h) += P(rk, i, h);
    O(d, i, h) += P(rk, i, h) / L(i, h) * V(d, rk, h);
    pipeline = Pipeline(O);
    std::mt19937 random(static_cast<unsigned>(queries * 31 + keys));
    std::uniform_real_distribution<float> unit(-1, 1);
    const auto fill = [&](std::vector<float> &values, int n, float scale) {
      values.resize(static_cast<size_t>(n) * width * heads);
      for (float &x : values) x = scale * unit(random);
    };
    fill(q, queries, size), fill(key, keys, 1), fill(v, keys, 1);
    Q.set(Buffer<float>(q.data(), width, queries, heads));
    K.set(Buffer<float>(key.data(), width, keys, heads));
    V.set(Buffer<float>(v.data(), width, keys, heads));
  }

  std::vector<float> run(const std::string &schedule, const Mask &mask, int queries) {
    pipeline.load_schedule_text("calotype 1\n" + schedule, "test.sched");
    lo.set(mask.lo), hi.set(mask.hi);
    std::vector<float> out(static_cast<size_t>(width) * queries * heads);
    Buffer<float> buffer(out.data(), width, queries, heads);
    pipeline.realize(buffer);
    return out;
  }

  std::vector<double> reference(const Mask &mask, int queries) const {
    std::vector<double> out;
    for (int head = 0; head < heads; head++) {
      for (int row = 0; row < queries; row++) {
        const size_t at = static_cast<size_t>(head * queries + row) * width;
        std::vector<double> scores(static_cast<size_t>(keys));
        double most = -INFINITY, sum = 0;
        for (int j = 0; j < keys; j++) {
          const size_t from = static_cast<size_t>(head * keys + j) * width;
          double s = 0;
          for (int e = 0; e < width; e++) s += static_cast<double>(q[at + e]) * key[from + e];
          scores[j] = mask.sees(row, j) ? s : -INFINITY;
          most = std::max(most, scores[j]);
        }
        for (double &s : scores) sum += s = std::exp(s - most);
        for (int e = 0; e < width; e++) {
          double o = 0;
          for (int j = 0; j < keys; j++)
            o += scores[j] / sum * v[static_cast<size_t>(head * keys + j) * width + e];
          out.push_back(o);
        }
      }
    }
    return out;
  }
};

/// The largest difference; infinite where one is NaN and the other is not.
double error(const std::vector<float> &got, const std::vector<double> &expected) {
  double worst = 0;
  for (size_t n = 0; n < got.size(); n++) {
    const bool a = std::isnan(got[n]), b = std::isnan(expected[n]);
    if (a && b) continue;
    if (a != b) return INFINITY;
    worst = std::max(worst, std::abs(got[n] - expected[n]));
  }
  return worst;
}

const char *kTextbook = "S.compute_root()\nM.compute_root()\nL.compute_root()\n";
const char *kPlain =
    "O.update().split(r.x, ko, ki, 64).reorder(d, i, ki, ko, h).online(ko, {M, L})\n";
const char *kRows =
    "O.update().split(r.x, ko, ki, 64).split(i, io, ii, 16).reorder(d, ii, ki, ko, io, h)"
    ".vectorize(d, 8).parallel(io)\n"
    "O.update().online(ko, {M, L})\n"
    "S.compute_at(O, ko).vectorize(k, 8)\n";

}  // namespace

TEST_CASE("online: attention at odd sizes and masks, within 8 times the textbook's error") {
  for (int n : {1, 7, 33, 200}) {
    for (const Mask &mask : kMasks) {
      Attention a(n, n, 12);
      INFO("n = " << n << ", keys from " << mask.lo << " to row + " << mask.hi);
      const std::vector<double> expected = a.reference(mask, n);
      const double textbook = error(a.run(kTextbook, mask, n), expected);
      for (const char *schedule : {kPlain, kRows}) {
        INFO(std::string(schedule));
        const double online = error(a.run(schedule, mask, n), expected);
        CHECK(online <= 8 * textbook + 1e-6);
      }
    }
  }
}

TEST_CASE("online: more keys than queries, none at all, scores of 1e4") {
  for (const auto &[queries, keys] : {std::make_pair(5, 130), std::make_pair(70, 3)}) {
    Attention a(queries, keys, 8, 1, 1e4f);
    const std::vector<double> expected = a.reference({}, queries);
    const double textbook = error(a.run(kTextbook, {}, queries), expected);
    CHECK(error(a.run(kRows, {}, queries), expected) <= 8 * textbook + 1e-6);
  }
}
