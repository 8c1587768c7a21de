#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include "../base/disk_cache.h"
#include "calo_tune.h"

namespace calotype::cli {

namespace {

std::string checksum(const std::string &text) { return Hash().add(text).text().substr(0, 16); }

}  // namespace

TuneLog::TuneLog(std::string path, std::string key) : path_(std::move(path)), key_(std::move(key)) {
  if (path_.empty()) return;
  const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) raise(Diagnostic("R0201", {}, path_ + ": the log cannot be written"));
  close(file);
  std::ifstream in(path_);
  for (std::string line; std::getline(in, line);) {
    if (line.size() < 18 || line[16] != ' ' || checksum(line.substr(17)) != line.substr(0, 16))
      continue;  // torn, or not ours
    const Json row = Json::parse(line.substr(17), nullptr, false);
    if (!row.is_object() || row.value("key", "") != key_) continue;
    autoscheduler::Measurement m;
    m.ns = row.value("ns", -1.0);
    m.status = row.value("status", "");
    rows_[row.value("schedule", "")] = m;
  }
}

const autoscheduler::Measurement *TuneLog::find(const std::string &text) const {
  const auto at = rows_.find(text);
  return at == rows_.end() ? nullptr : &at->second;
}

void TuneLog::add(const std::string &text, const autoscheduler::Measurement &m) {
  rows_[text] = m;
  if (path_.empty()) return;
  const Json row{{"key", key_}, {"schedule", text}, {"ns", m.ns}, {"status", m.status}};
  const std::string body = row.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string line =
      "\n" + checksum(body) + " " + body + "\n";  // a torn line before it stays alone
  const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  flock(file, LOCK_EX);
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(file, line.data() + done, line.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  fsync(file);
  close(file);
}

}  // namespace calotype::cli
