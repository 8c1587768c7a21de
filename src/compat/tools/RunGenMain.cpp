// Runs compiled pipelines from a command line. Compile it with the registration source of each pipeline
// and link their libraries, libcalotype_rungen.a and the picture libraries:
//
//   calo build blur.cpp -e static_library,registration -o out
//   c++ -std=c++17 share/tools/RunGenMain.cpp out/blur.registration.cpp out/blur.a
//       -Llib -lcalotype_rungen -lpng -ljpeg -ltiff -lpthread -ldl -o blur.rungen
//   ./blur.rungen --describe
//   ./blur.rungen input=photo.png output=result.png --benchmarks=all
namespace calotype {
namespace run {
int run_main(int argc, char **argv);
}
}  // namespace calotype

int main(int argc, char **argv) { return calotype::run::run_main(argc, argv); }
