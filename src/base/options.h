// The one place that reads the environment. Everything else asks here.
//   CALO_DUMP=dir        numbered program dumps after every pass that changed something
//   CALO_DUMP_FUNC=name  narrows dumps to one Func
//   CALO_TIME_PASSES=1   table of pass times on standard error
//   CALO_VERIFY=0|1      verifier after every pass (default: on in test builds)
//   CALO_ROUNDTRIP=1     prints and reparses IR and schedules as they pass by
//   CALO_CACHE=dir|off   compiled generators and pipelines (default: $XDG_CACHE_HOME/calotype or
//                        ~/.cache/calotype)
//   CALO_DEBUG_INFO=1    compiled code says which loop and which line of a definition it comes from, for gdb and perf
//   CALO_PERF=map|dump   JIT code is made known to perf: names in /tmp/perf-PID.map, or code and lines as a jit dump
//   HL_TARGET, HL_JIT_TARGET
//   CXX, PATH           the compiler of generator sources
#pragma once

#include <string>

#include "export.h"

namespace calotype {

struct Options {
  std::string dump_dir;
  std::string dump_func;
  bool time_passes = false;
  bool verify = false;
  bool roundtrip = false;
  std::string cache_dir;  ///< empty: no cache
  bool debug_info = false;
  std::string perf;
  std::string target, jit_target;
  std::string cxx, path;
};

/// Read once per process.
CALO_EXPORT const Options &options();

}  // namespace calotype
