// Leaves a test case that cannot run here, with the reason. ./dev test counts and prints skips; a case
// that just returns would pass as if it had checked something.
#pragma once

#include <cstdio>

#define CALO_SKIP(...)                  \
  do {                                  \
    std::printf("[skip] " __VA_ARGS__); \
    std::printf("\n");                  \
    return;                             \
  } while (false)
