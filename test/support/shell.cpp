// See shell.h.
#include "shell.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "driver/artifacts.h"

namespace calotype::test {

namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/calo_test.XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
};
}  // namespace

std::string temporary(const std::string &file) {
  static const Folder folder;
  return (folder.path / file).string();
}

ShellResult shell(const std::string &command) {
  ShellResult r;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return r;
  char text[4096];
  for (size_t n; (n = fread(text, 1, sizeof text, pipe)) > 0;) r.out.append(text, n);
  const int status = pclose(pipe);
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text_file(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

SharedObject::SharedObject(const std::string &files, const std::string &compiler,
                           const std::string &flags) {
  static int count = 0;
  const std::string runtime = temporary("runtime.o");
  if (!fs::exists(runtime)) driver::write_file(runtime, driver::runtime_object());
  const std::string so = temporary("lib" + std::to_string(count++) + ".so");
  const ShellResult r =
      shell(compiler + " -shared -fPIC -Wl,-Bsymbolic -Wl,--no-undefined " + flags + " -o " + so +
            " " + files + " " + runtime + " -lpthread -ldl -lm");
  if (r.code != 0) {
    failure = r.out;
    return;
  }
  handle_ = dlopen(so.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) failure = dlerror();
}

SharedObject::~SharedObject() {
  if (!handle_) return;
  if (auto *shutdown = find<void()>("halide_shutdown_thread_pool")) shutdown();
  dlclose(handle_);
}

void *SharedObject::address(const std::string &name) const {
  return handle_ ? dlsym(handle_, name.c_str()) : nullptr;
}

}  // namespace calotype::test
