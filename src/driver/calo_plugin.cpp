// Generator sources to shared objects, compiled on the fly and kept.
//
// The cache is keyed by content: a manifest per (source path, compiler, flags, library) lists the files
// that the last compilation read, with their hashes; while they agree the object is used. Objects are
// named by the hash of all of it, written beside their final name, flushed and renamed, so that a reader
// never sees half a file. The folder belongs to its owner alone: what is loaded from it runs as him.
// Tests: test/unit/driver/calo_test.cpp.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../base/options.h"
#include "calo.h"

extern char **environ;

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void file_error(const std::string &path, const std::string &what) {
  raise(Diagnostic("R0201", {}, path + ": " + what));
}

// ---- hashing ----------------------------------------------------------------------------------------

/// FNV-1a in two lanes of 64 bits. The cache's owner is the only one who writes what is hashed.
class Hash {
public:
  Hash &add(const std::string &text) {
    for (unsigned char c : text) {
      a_ = (a_ ^ c) * 0x100000001b3u;
      b_ = (b_ ^ c) * 0x13b00000000013bu + 1;
    }
    return add_byte();  // so that ("ab", "c") and ("a", "bc") differ
  }
  std::string text() const {
    char out[33];
    std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(a_),
                  static_cast<unsigned long long>(b_));
    return out;
  }

private:
  Hash &add_byte() {
    a_ = (a_ ^ 0xff) * 0x100000001b3u;
    b_ = (b_ ^ 0xff) * 0x13bu + 1;
    return *this;
  }
  uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

std::string hash_of_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::stringstream text;
  text << in.rdbuf();
  return Hash().add(text.str()).text();
}

/// Identifies a program or library without reading it.
std::string stamp(const std::string &path) {
  struct stat s = {};
  if (stat(path.c_str(), &s) != 0) return path + " missing";
  std::ostringstream o;
  o << path << ' ' << s.st_size << ' ' << s.st_mtim.tv_sec << '.' << s.st_mtim.tv_nsec;
  return o.str();
}

// ---- finding things -----------------------------------------------------------------------------------

std::string find_program(const std::string &name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::istringstream folders(options().path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

/// The compiler's words: $CXX may hold several ("ccache g++").
std::vector<std::string> compiler() {
  std::istringstream words(options().cxx);
  std::vector<std::string> command;
  for (std::string w; words >> w;) command.push_back(w);
  if (!command.empty()) {
    command[0] = find_program(command[0]);
    if (command[0].empty()) {
      raise(Diagnostic("T0201", {}, "CXX names no program: " + options().cxx));
    }
    return command;
  }
  for (const char *name : {"c++", "g++", "clang++"}) {
    const std::string found = find_program(name);
    if (!found.empty()) return {found};
  }
  raise(Diagnostic("T0201", {}, "no C++ compiler found: generator sources are compiled on the fly")
            .fix("install one (apt-get install g++), or name one in CXX"));
}

std::string include_folder() {
  const std::string bin = executable_folder();
  for (const char *place : {"/../include", "/../sdk/include", "/../../sdk/include"}) {
    if (fs::exists(bin + place + "/calotype.h")) return fs::canonical(bin + place).string();
  }
  raise(Diagnostic("T0201", {}, "calotype.h not found beside " + bin)
            .fix("run the calo of an installed SDK: build/sdk/bin/calo"));
}

/// The library this process runs with: a plugin compiled for another one is not used.
std::string library_file() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void *>(&options), &info) && info.dli_fname) {
    return fs::canonical(info.dli_fname).string();
  }
  return executable_folder();
}

// ---- the cache ------------------------------------------------------------------------------------------

std::string cache_folder() {
  const fs::path folder = fs::path(options().cache_dir) / "generators";
  std::error_code error;
  fs::create_directories(folder, error);
  struct stat s = {};
  if (lstat(folder.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) {
    file_error(folder.string(), "cannot be used as the cache of compiled generators");
  }
  if (s.st_uid != geteuid()) {
    file_error(folder.string(),
               "belongs to another user; compiled code is loaded from there "
               "(CALO_CACHE_DIR names another folder)");
  }
  if ((s.st_mode & 077) != 0 && chmod(folder.c_str(), 0700) != 0) {
    file_error(folder.string(), "is open to others and cannot be closed");
  }
  return folder.string();
}

/// Objects nobody used for a month go, and what a killed run left.
void sweep(const std::string &folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto &entry : fs::directory_iterator(folder, error)) {
    const auto age = now - entry.last_write_time(error);
    if (!error && age > std::chrono::hours(24 * 30)) fs::remove(entry.path(), error);
  }
}

void flush_file(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

/// Writes text the same way that objects are written: complete or not at all.
void replace_file(const std::string &path, const std::string &text) {
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  write_text(temporary, text);
  flush_file(temporary);
  if (rename(temporary.c_str(), path.c_str()) != 0) file_error(path, std::strerror(errno));
}

struct Dependency {
  std::string hash, path;
};

/// Lines "hash path".
std::vector<Dependency> read_manifest(const std::string &file) {
  std::ifstream in(file);
  std::vector<Dependency> all;
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) return {};
    all.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return all;
}

/// The prerequisites of a make rule, as compilers write it: "\ " is a blank, "\" ends a line, "$$" a $.
std::vector<std::string> parse_make_rule(const std::string &text) {
  std::vector<std::string> files;
  std::string word;
  const size_t colon = text.find(": ");
  for (size_t i = colon == std::string::npos ? 0 : colon + 1; i <= text.size(); i++) {
    const char c = i < text.size() ? text[i] : ' ';
    const char next = i + 1 < text.size() ? text[i + 1] : '\n';
    if (c == '\\' && (next == ' ' || next == '#' || next == '\\')) {
      word += next;
      i++;
    } else if (c == '$' && next == '$') {
      word += '$';
      i++;
    } else if (c == ' ' || c == '\n' || c == '\t' || (c == '\\' && next == '\n')) {
      if (!word.empty()) files.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  return files;
}

// ---- compiling ------------------------------------------------------------------------------------------

/// Runs a command with both outputs in `log`; the exit status, or -1 for a signal.
int run_command(const std::vector<std::string> &command, const std::string &log) {
  std::vector<char *> argv;
  for (const std::string &word : command) argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    raise(Diagnostic("T0201", {}, command[0] + " cannot be started: " + std::strerror(failed)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct TemporaryFiles {
  std::string stem;
  ~TemporaryFiles() {
    for (const char *ending : {".so", ".d", ".log"}) unlink((stem + ending).c_str());
  }
};

std::string compile(const std::string &source, const std::string &identity,
                    const std::vector<std::string> &command, const std::string &folder,
                    const std::string &manifest) {
  const TemporaryFiles temporary{folder + "/tmp." + std::to_string(getpid())};
  std::vector<std::string> full = command;
  for (const std::string &word : {source, std::string("-o"), temporary.stem + ".so",
                                  std::string("-MMD"), std::string("-MF"), temporary.stem + ".d"}) {
    full.push_back(word);
  }
  const int status = run_command(full, temporary.stem + ".log");
  if (status != 0) {
    std::string words = read_text(temporary.stem + ".log");
    while (!words.empty() && words.back() == '\n') words.pop_back();
    if (status < 0) words += "\n(the compiler was killed)";
    raise(Diagnostic("T0202", {}, source + " does not compile").because(words));
  }
  std::string lines;
  Hash all;
  all.add(identity);
  for (const std::string &file : parse_make_rule(read_text(temporary.stem + ".d"))) {
    const std::string path = fs::absolute(file).string(), hash = hash_of_file(path);
    lines += hash + " " + path + "\n";
    all.add(path).add(hash);
  }
  const std::string object = folder + "/" + all.text() + ".so";
  chmod((temporary.stem + ".so").c_str(), 0700);
  flush_file(temporary.stem + ".so");
  if (rename((temporary.stem + ".so").c_str(), object.c_str()) != 0) {
    file_error(object, std::strerror(errno));
  }
  replace_file(manifest, lines);
  sweep(folder);
  return object;
}

bool is_shared_object(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  char magic[4] = {};
  return in.read(magic, 4) && std::memcmp(magic, "\177ELF", 4) == 0;
}

}  // namespace

std::string executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string read_text(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path)) file_error(path, "cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::string &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) file_error(path, "cannot be written");
}

std::string plugin_of(const std::string &source) {
  if (!fs::exists(source) || fs::is_directory(source)) {
    file_error(source, "no such generator source");
  }
  const std::string path = fs::canonical(source).string();
  if (is_shared_object(path)) return path;
  std::vector<std::string> command = compiler();
  // The source is named as typed, so that messages name it so; hence the current folder counts.
  std::string identity = path + "\n" + source + "\n" + fs::current_path().string() + "\n" +
                         stamp(command[0]) + "\n" + stamp(library_file());
  for (const char *flag : {"-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-pipe"}) {
    command.push_back(flag);
  }
  command.push_back("-I" + include_folder());
  for (const std::string &word : command) identity += "\n" + word;
  const std::string folder = cache_folder();
  const std::string manifest = folder + "/" + Hash().add(identity).text() + ".deps";

  const std::vector<Dependency> known = read_manifest(manifest);
  bool fresh = !known.empty();
  Hash all;
  all.add(identity);
  for (const Dependency &d : known) {
    fresh = fresh && hash_of_file(d.path) == d.hash;
    all.add(d.path).add(d.hash);
  }
  const std::string object = folder + "/" + all.text() + ".so";
  if (fresh && fs::exists(object)) {
    std::error_code error;  // the date of last use, for sweep()
    fs::last_write_time(object, fs::file_time_type::clock::now(), error);
    fs::last_write_time(manifest, fs::file_time_type::clock::now(), error);
    return object;
  }
  return compile(source, identity, command, folder, manifest);
}

void load_plugin(const std::string &file) {
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  const char *reason = dlerror();
  raise(Diagnostic("T0203", {}, file + " cannot be loaded").because(reason ? reason : "unknown"));
}

}  // namespace calotype::cli
