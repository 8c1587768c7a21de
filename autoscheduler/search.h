// The search: plans are drawn, made legal by asking the compiler, ranked by the model, the best of them measured, and
// changed again, until the time is over. What comes out is always a legal schedule.
#pragma once

#include <functional>
#include <string>

#include "../src/schedule/directive.h"
#include "cost.h"

namespace calotype::autoscheduler {

struct Candidate {
  std::string text;      ///< directives, canonical
  double predicted = 0;  ///< ns
  double measured = -1;  ///< ns; -1: not measured
};

/// Nanoseconds of a run, or a negative number where it cannot be used (wrong, crashed, too slow), with the reason.
struct Measurement {
  double ns = -1;
  std::string status = "ok";
};
/// `give_up_after`: ns beyond which a run is of no interest.
using Measure = std::function<Measurement(const std::string &text, double give_up_after)>;

struct SearchOptions {
  double budget_seconds = 60;  ///< 0: by the model alone
  uint64_t seed = 0;
  std::vector<std::string> seeds;  ///< texts that join the candidates
  Measure measure;                 ///< null: by the model alone
  Measure
      remeasure;  ///< of the best few at the end, past what is kept of earlier runs; may be null
  std::function<void(const Candidate &best, int measured, double seconds)>
      progress;                ///< a better one was found
  std::function<bool()> stop;  ///< asked often
};

struct SearchResult {
  Candidate best;
  int considered = 0, refused = 0, measured = 0, failed = 0;
};

/// Throws what the pipeline throws under no directives.
CALO_EXPORT SearchResult search(const Problem &p, const SearchOptions &options);

/// `text` without the directives that the compiler refuses, canonical; and what becomes of the program.
CALO_EXPORT std::string legal_part(const Problem &p, const std::string &text,
                                   schedule::Scheduled *scheduled);

/// Every Func that can be stored at root: what all schedules' results are compared with.
CALO_EXPORT std::string reference_directives(const ir::Program &p, const Target &t);

}  // namespace calotype::autoscheduler
