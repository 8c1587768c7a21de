// Pass dumps and times (see dump.h).
#include "dump.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "options.h"

namespace calotype {

DumpWriter::DumpWriter(const std::string &pipeline) : pipeline_(pipeline) {}

bool DumpWriter::wanted() const { return !options().dump_dir.empty(); }

void DumpWriter::pass(int number, const std::string &name, const std::string &text, double ms) {
  rows_.push_back({name, ms, !text.empty()});
  if (text.empty() || !wanted()) return;
  std::error_code ignored;
  std::filesystem::create_directories(options().dump_dir, ignored);
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%02d-", number);
  std::ofstream(std::filesystem::path(options().dump_dir) / (prefix + name + ".ir")) << text;
}

DumpWriter::~DumpWriter() {
  if (!options().time_passes) return;
  double total = 0;
  for (const Row &r : rows_) total += r.ms;
  std::fprintf(stderr, "passes of %s: %.2f ms\n", pipeline_.c_str(), total);
  for (const Row &r : rows_) std::fprintf(stderr, "  %8.3f ms  %s\n", r.ms, r.name.c_str());
}

}  // namespace calotype
