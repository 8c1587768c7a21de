// The one translation unit that holds doctest's implementation and main, shared by all test binaries.
// Tests compile everything themselves: the disk cache is off, but where a test turns it on.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char **argv) {
  setenv("CALO_CACHE", "off", 0);
  return doctest::Context(argc, argv).run();
}
