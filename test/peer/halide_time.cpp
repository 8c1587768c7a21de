// Times one ahead-of-time compiled pipeline of Halide's in a process of its own, on request.
//
// Built with -DPIPELINE=name -DPIPELINE_HEADER="name.h" -DSAMPLE=type and the static library; run with the extents of
// the inputs and the output, "1536x2560x3 1536x2560"; -DARGUMENTS="inputs[0], 0.1f," is what comes before the output.
// Reads commands on stdin, answers a line each, so that bench.py can alternate rivals:
//   "read I FILE" -> raw samples into input I;  "run N" -> N times in ms;  "write FILE" -> the output's raw samples.
#include PIPELINE_HEADER

#include "HalideBuffer.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using Samples = Halide::Runtime::Buffer<SAMPLE>;

std::vector<int> extents_of(const std::string &text) {
  std::vector<int> extents;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, 'x');) extents.push_back(std::stoi(word));
  return extents;
}

int main(int argc, char **argv) {
  if (argc < 3) return 1;
  std::vector<Samples> inputs;
  for (int i = 1; i < argc; i++) {
    inputs.emplace_back(extents_of(argv[i]));
    inputs.back().fill(SAMPLE(0));  // touches the pages: what is timed is the pipeline
  }
  Samples output = inputs.back();
  std::string command;
  while (std::cin >> command) {
    if (command == "run") {
      int times = 0;
      std::cin >> times;
      for (int i = 0; i < times; i++) {
        const auto start = std::chrono::steady_clock::now();
        const int code = PIPELINE(ARGUMENTS output);
        const std::chrono::duration<double, std::milli> ms =
            std::chrono::steady_clock::now() - start;
        if (code != 0) return code;
        std::printf("%s%.4f", i ? " " : "", ms.count());
      }
      std::printf("\n");
    } else if (command == "read") {
      size_t which = 0;
      std::string path;
      std::cin >> which >> path;
      Samples &input = inputs.at(which);
      const auto bytes = static_cast<std::streamsize>(input.size_in_bytes());
      std::ifstream file(path, std::ios::binary);
      if (!file.read(reinterpret_cast<char *>(input.begin()), bytes)) return 1;
      std::printf("read\n");
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
