// Schedule files of the repository as test cases: finding them and reading the comments that say what is expected.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace calotype::test {

/// Names in `folder` (relative to the source tree) that end in `ending`, sorted.
inline std::vector<std::string> files_in(const std::string &folder, const std::string &ending) {
  std::vector<std::string> names;
  DIR *dir = opendir((std::string(CALO_SOURCE_DIR) + "/" + folder).c_str());
  if (!dir) return names;
  while (const dirent *entry = readdir(dir)) {
    const std::string name = entry->d_name;
    const bool ends = name.size() >= ending.size() &&
                      name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    if (ends && name[0] != '.') names.push_back(name);
  }
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string read_file(const std::string &path) {
  std::ifstream in(std::string(CALO_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What stands behind "# key: " in each line that has it.
inline std::vector<std::string> comments(const std::string &text, const std::string &key) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  const std::string head = "# " + key + ": ";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(head, 0) == 0) found.push_back(line.substr(head.size()));
  }
  return found;
}

}  // namespace calotype::test
