// Generator sources to shared objects, compiled on the fly and kept (base/disk_cache.h).
//
// The cache is keyed by content: a list per (source path, compiler, flags, library) has the files that
// the last compilation read, with their hashes; while they agree, the object named by the hash of all of
// it is used. Without a cache that works everything is compiled anew, and nothing else changes.
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
#include <set>
#include <sstream>

#include "../base/disk_cache.h"
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

// ---- what a compilation read ----------------------------------------------------------------------------

struct Dependency {
  std::string hash, path;
};

/// Lines "hash path".
std::vector<Dependency> parse_dependencies(const std::string &text) {
  std::istringstream in(text);
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

/// A folder of this process alone, gone at the end of its life.
struct Scratch {
  fs::path path;
  Scratch() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "calo.XXXXXX").string();
    if (error || !mkdtemp(&name[0])) file_error(name, "cannot be made");
    path = name;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  std::string file(const char *name) const { return (path / name).string(); }
};

/// How a source is compiled: the command up to the source, and all that the result depends on but files.
struct Recipe {
  std::string source, identity;
  std::vector<std::string> command;
};

/// The object's bytes; `dependencies` gets the files that it was made from.
std::string compile(const Recipe &r, std::vector<Dependency> *dependencies) {
  const Scratch scratch;
  std::vector<std::string> command = r.command;
  for (const std::string &word :
       {r.source, std::string("-o"), scratch.file("plugin.so"), std::string("-MMD"),
        std::string("-MF"), scratch.file("plugin.d")}) {
    command.push_back(word);
  }
  const int status = run_command(command, scratch.file("log"));
  if (status != 0) {
    std::string words = read_text(scratch.file("log"));
    while (!words.empty() && words.back() == '\n') words.pop_back();
    if (status < 0) words += "\n(the compiler was killed)";
    raise(Diagnostic("T0202", {}, r.source + " does not compile").because(words));
  }
  for (const std::string &file : parse_make_rule(read_text(scratch.file("plugin.d")))) {
    const std::string path = fs::absolute(file).string();
    dependencies->push_back({hash_of_file(path), path});
  }
  return read_text(scratch.file("plugin.so"));
}

std::string key_of(const Recipe &r, const std::vector<Dependency> &dependencies) {
  Hash all;
  all.add(r.identity);
  for (const Dependency &d : dependencies) all.add(d.path).add(d.hash);
  return all.text();
}

void open_object(const std::string &file) {
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  const char *reason = dlerror();
  raise(Diagnostic("T0203", {}, file + " cannot be loaded").because(reason ? reason : "unknown"));
}

/// Loads the kept object of a source that has not changed; false if there is none.
bool open_kept(const Recipe &r, DiskCache &cache) {
  std::string text;
  if (!cache.get(Hash().add("list").add(r.identity).text(), r.identity, &text)) return false;
  const std::vector<Dependency> known = parse_dependencies(text);
  for (const Dependency &d : known) {
    if (hash_of_file(d.path) != d.hash) return false;
  }
  const std::string key = key_of(r, known);
  return !known.empty() && cache.get(key, r.identity, &text) &&
         dlopen(cache.path(key).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
}

void keep(const Recipe &r, const std::vector<Dependency> &dependencies, const std::string &object,
          DiskCache &cache) {
  std::string lines;
  for (const Dependency &d : dependencies) lines += d.hash + " " + d.path + "\n";
  if (cache.put(key_of(r, dependencies), r.identity, object)) {
    cache.put(Hash().add("list").add(r.identity).text(), r.identity, lines);
  }
}

// Compilers take any other file for something to link.
bool is_cpp_name(const std::string &path) {
  const std::string ending = fs::path(path).extension().string();
  for (const char *known : {".cpp", ".cc", ".cxx", ".c++", ".cp", ".C", ".CPP"}) {
    if (ending == known) return true;
  }
  return false;
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
  if (fs::is_character_file(path)) file_error(path, "is a device, expected a file");
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

void load_generators(const std::string &source) {
  if (!fs::exists(source) || fs::is_directory(source)) {
    file_error(source, "no such generator source");
  }
  const std::string path = fs::canonical(source).string();
  static std::set<std::string>
      loaded;  // a second copy, made for another target, would register its generators again
  if (!loaded.insert(path).second) return;
  if (is_shared_object(path)) return open_object(path);
  if (!is_cpp_name(path)) {
    file_error(source, "neither a C++ source (.cpp, .cc, .cxx, .C) nor a shared object");
  }
  Recipe r;
  r.source = source;
  r.command = compiler();
  // The source is named as typed, so that messages name it so; hence the current folder counts.
  r.identity = "generator\n" + path + "\n" + source + "\n" + fs::current_path().string() + "\n" +
               stamp(r.command[0]) + "\n" + build_id_of(reinterpret_cast<const void *>(&options));
  for (const char *flag : {"-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-pipe"}) {
    r.command.push_back(flag);
  }
  r.command.push_back("-I" + include_folder());
  for (const std::string &word : r.command) r.identity += "\n" + word;
  DiskCache *cache = shared_cache("generators");
  if (cache && open_kept(r, *cache)) return;
  std::vector<Dependency> dependencies;
  const std::string object = compile(r, &dependencies);
  if (cache) keep(r, dependencies, object, *cache);
  const Scratch scratch;
  const std::string file = scratch.file("plugin.so");
  write_text(file, object);
  open_object(file);
}

}  // namespace calotype::cli
