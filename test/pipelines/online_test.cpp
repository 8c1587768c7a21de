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

  void use(const std::string &schedule) {
    pipeline.load_schedule_text("calotype 1\n" + schedule, "test.sched");
  }
  std::vector<float> run(const Mask &mask, int queries) {
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
    Attention a(n, n, 12);
    std::vector<std::vector<double>> expected;
    std::vector<double> textbook;
    a.use(kTextbook);
    for (const Mask &mask : kMasks) {
      expected.push_back(a.reference(mask, n));
      textbook.push_back(error(a.run(mask, n), expected.back()));
    }
    for (const char *schedule : {kPlain, kRows}) {
      a.use(schedule);
      for (size_t m = 0; m < expected.size(); m++) {
        INFO("n = " << n << ", keys from " << kMasks[m].lo << " to row + " << kMasks[m].hi);
        INFO(std::string(schedule));
        CHECK(error(a.run(kMasks[m], n), expected[m]) <= 8 * textbook[m] + 1e-6);
      }
    }
  }
}

TEST_CASE("online: more keys than queries, none at all, scores of 1e4") {
  for (const auto &[queries, keys] : {std::make_pair(5, 130), std::make_pair(70, 3)}) {
    Attention a(queries, keys, 8, 1, 1e4f);
    const std::vector<double> expected = a.reference({}, queries);
    a.use(kTextbook);
    const double textbook = error(a.run({}, queries), expected);
    a.use(kRows);
    CHECK(error(a.run({}, queries), expected) <= 8 * textbook + 1e-6);
  }
}

TEST_CASE("online: written in C++, it is what a file says, and gives the same bits") {
  const int n = 33;
  Attention a(n, n, 12);
  const std::string file =
      "O.update().split(r.x, ko, ki, 16).reorder(d, i, ki, ko, h).online(ko, {M, L})\n"
      "M_part.update().unroll(ki, 2)\nO_state.update().vectorize(d, 4)\n";
  a.use(file);
  const std::vector<float> expected = a.run({}, n);

  Attention b(n, n, 12);
  RVar ko("ko"), ki("ki");
  const std::vector<Func> made =
      b.O.update().split(b.rk, ko, ki, 16).reorder(d, i, ki, ko, h).online(ko, {b.M, b.L});
  REQUIRE(made.size() == 6);
  Func m_part = made[0], o_state = made[5];
  m_part.update().unroll(ki, 2);
  o_state.update().vectorize(d, 4);
  std::vector<float> got(expected.size());
  Buffer<float> out(got.data(), 12, n, 2);
  b.lo.set(0), b.hi.set(1 << 20);
  b.pipeline.realize(out);
  CHECK(got == expected);
  const std::string text = b.pipeline.schedule_text();
  CHECK(text.find(".online(ko, {M, L})") != std::string::npos);
  CHECK(text.find("M_part.update(0).unroll(ki, 2)") != std::string::npos);
}

TEST_CASE("online: a temperature that depends on the maximum is refused, with the factor") {
  ImageParam in(Float(32), 2, "in");
  Func M("M"), L("L");
  RDom r(0, in.dim(0).extent(), "r");
  M(i) = -INFINITY;
  M(i) = max(M(i), in(r, i));
  L(i) += exp(in(r, i) * M(i));
  Pipeline p(L);
  p.load_schedule_text("calotype 1\nL.update().online(r.x, {M})\n", "hot.sched");
  CHECK_DIAG(p.compile_jit(), "S0801", "mixes what r.x runs over with M");
  const auto from_cpp = [&] {
    Pipeline again(L);
    L.update().online(VarOrRVar(r), {M});
    again.compile_jit();
  };
  CHECK_DIAG(from_cpp(), "S0801", "mixes what r.x runs over with M");
}
