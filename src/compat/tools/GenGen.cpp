// The main program of generator executables: link it with generator sources and libcalotype.
#include "Halide.h"

int main(int argc, char **argv) { return Halide::Internal::generate_filter_main(argc, argv); }
