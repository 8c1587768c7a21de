// Running other programs, and a folder that vanishes with the process.
#pragma once

#include <string>

namespace calotype::test {

struct ShellResult {
  int code = -1;
  std::string out;  ///< both streams
};
/// Runs a command line by sh.
ShellResult shell(const std::string &command);

/// The path of `file` in this process's own temporary folder.
std::string temporary(const std::string &file);
std::string read_file(const std::string &path);
void write_text_file(const std::string &path, const std::string &text);

/// A shared object in this process, closed with it.
class SharedObject {
public:
  /// Links object or C files (with `compiler`) and the ahead-of-time runtime, and loads the result. `failure` says why
  /// that went wrong.
  SharedObject(const std::string &files, const std::string &compiler = "cc",
               const std::string &flags = "");
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;
  template <typename F> F *find(const std::string &name) const {
    return reinterpret_cast<F *>(address(name));
  }
  std::string failure;

private:
  void *address(const std::string &name) const;
  void *handle_ = nullptr;
};

}  // namespace calotype::test
