// Reads the environment, once.
#include "options.h"

#include <sys/auxv.h>

#include <cstdlib>

namespace calotype {

namespace {

std::string text(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

bool flag(const char *variable, bool otherwise) {
  const std::string value = text(variable);
  return value.empty() ? otherwise : value != "0";
}

bool verify_by_default() {
#if defined(CALO_VERIFY_EACH_PASS) || !defined(NDEBUG)
  return true;
#else
  return false;
#endif
}

std::string default_cache_dir() {
  const std::string cache = text("XDG_CACHE_HOME"), home = text("HOME"), temporary = text("TMPDIR");
  if (!cache.empty()) return cache + "/calotype";
  if (!home.empty()) return home + "/.cache/calotype";
  return (temporary.empty() ? "/tmp" : temporary) + "/calotype-cache";
}

Options read() {
  Options o;
  o.dump_dir = text("CALO_DUMP");
  o.dump_func = text("CALO_DUMP_FUNC");
  o.time_passes = flag("CALO_TIME_PASSES", false);
  o.verify = flag("CALO_VERIFY", verify_by_default());
  o.roundtrip = flag("CALO_ROUNDTRIP", false);
  o.cache_dir = text("CALO_CACHE");
  if (o.cache_dir.empty()) o.cache_dir = default_cache_dir();
  // A program with another's rights must not run what this environment points it to.
  if (o.cache_dir == "off" || getauxval(AT_SECURE)) o.cache_dir.clear();
  o.debug_info = flag("CALO_DEBUG_INFO", false);
  o.perf = text("CALO_PERF");
  o.target = text("HL_TARGET");
  o.jit_target = text("HL_JIT_TARGET");
  o.cxx = text("CXX");
  o.path = text("PATH");
  return o;
}

}  // namespace

const Options &options() {
  static const Options *o = new Options(read());
  return *o;
}

}  // namespace calotype
