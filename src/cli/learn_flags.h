#pragma once
// What `assay calibrate` and `assay teach` have in common: where the lesson goes, risk, the report.

#include <iosfwd>
#include <string>
#include <vector>

#include "assay/teaching.h"
#include "cli/model_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct LearnFlags {
  std::string name;
  std::string output;   // the lesson's file; empty: <name>.lesson.json, or a new version in `lessons`
  std::string lessons;  // a folder of lessons; empty: none
  std::string risk;     // "0.05"; empty: no threshold
  bool risk_by_option = false;
  std::string level = "0.9";
  std::uint64_t risk_horizon = 0;  // 0: the long run
  std::string fallback;
  std::uint64_t seed = 1;
  std::string report;  // an HTML file; empty: none
  bool json = false;
  std::string layout = "auto";
};

// The specs of all of the above. `flags` must outlive them.
std::vector<OptionSpec> learn_options(LearnFlags& flags);

// Checks what needs no model. Errors name the flag. `created` is the present time; progress is left empty.
Result<LearnOptions> learn_settings(const LearnFlags& flags, const ModelFlags& model);

// Draws how far a step is and says when the context wants an end.
TeachProgress learn_progress(Streams& streams, const RunContext& context);

// What a command that learnt has to show.
struct LearnOutput {
  const Lesson& lesson;
  std::string text;
  std::string json;
  std::string page;  // HTML
};

// Writes the report and the lesson where the flags say, and prints the numbers. The exit code.
int write_learnt(const LearnFlags& flags, Streams& streams, const LearnOutput& output);

}  // namespace assay::cli
