// Times one ahead-of-time compiled pipeline of Halide's in a process of its own, on request.
//
// Built with -DPIPELINE=name -DPIPELINE_HEADER="name.h" -DSAMPLE=type and the static library; run with
// the extents of both buffers. Reads commands on stdin, answers a line each, so that bench.py can
// alternate rivals:  "run N" -> N times in ms;  "write FILE" -> the output's raw samples.
#include PIPELINE_HEADER

#include "HalideBuffer.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <type_traits>
#include <vector>

using Samples = Halide::Runtime::Buffer<SAMPLE>;

/// The same noise on both sides: a linear congruential generator, scaled to the sample's range.
static void fill(Samples &buffer) {
  uint32_t state = 12345;
  SAMPLE *data = buffer.begin();
  for (size_t i = 0; i < buffer.number_of_elements(); i++) {
    state = state * 1664525u + 1013904223u;
    const uint32_t high = state >> 16;
    data[i] = std::is_floating_point<SAMPLE>::value ? SAMPLE(high / 65535.0f) : SAMPLE(high);
  }
}

int main(int argc, char **argv) {
  std::vector<int> extents;
  for (int i = 1; i < argc; i++) extents.push_back(std::atoi(argv[i]));
  Samples input(extents), output(extents);
  fill(input);
  output.fill(SAMPLE(0));  // touches the pages: what is timed is the pipeline
  std::string command;
  while (std::cin >> command) {
    if (command == "run") {
      int times = 0;
      std::cin >> times;
      for (int i = 0; i < times; i++) {
        const auto start = std::chrono::steady_clock::now();
        const int code = PIPELINE(input, output);
        const std::chrono::duration<double, std::milli> ms =
            std::chrono::steady_clock::now() - start;
        if (code != 0) return code;
        std::printf("%s%.4f", i ? " " : "", ms.count());
      }
      std::printf("\n");
    } else if (command == "write") {
      std::string path;
      std::cin >> path;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char *>(output.begin()), output.size_in_bytes());
      std::printf("written\n");
    }
    std::fflush(stdout);
  }
  return 0;
}
