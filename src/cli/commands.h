#pragma once
// All commands with their flags.

#include <vector>

#include "cli/calibrate_command.h"
#include "cli/completion.h"
#include "cli/decide_command.h"
#include "cli/decisions_command.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/inspect_command.h"
#include "cli/option_spec.h"
#include "cli/pack_command.h"
#include "cli/sagemaker_command.h"
#include "cli/score_command.h"
#include "cli/serve_flags.h"
#include "cli/teach_command.h"
#include "cli/verify_command.h"
#include "cli/version_command.h"
#include "cli/warm_command.h"

namespace assay::cli {

// The settings of every command; only those of the command that runs are filled.
struct CommandFlags {
  DecideFlags decide;
  ScoreFlags score;
  EvalFlags eval;
  CalibrateFlags calibrate;
  TeachFlags teach;
  ServeFlags serve;
  SageMakerFlags sagemaker;
  VerifyFlags verify;
  DecisionsFlags decisions;
  WarmFlags warm;
  PackFlags pack;
  InspectFlags inspect;
  DoctorFlags doctor;
  VersionFlags version;
  CompletionFlags completion;
};

// In the order of the help. `flags` must outlive the specs.
std::vector<CommandSpec> all_commands(CommandFlags& flags);

// The level that --log-level names for the command; without it info for serve, warn for the others.
std::string log_level_name(const std::string& command, const CommandFlags& flags);

}  // namespace assay::cli
