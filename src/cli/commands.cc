#include "cli/commands.h"

namespace assay::cli {

std::vector<CommandSpec> all_commands(CommandFlags& flags) {
  return {decide_command(flags.decide),       score_command(flags.score),     eval_command(flags.eval),
          calibrate_command(flags.calibrate), teach_command(flags.teach),     serve_command(flags.serve),
          sagemaker_command(flags.sagemaker), verify_command(flags.verify),   decisions_command(flags.decisions),
          warm_command(flags.warm),           pack_command(flags.pack),       inspect_command(flags.inspect),
          doctor_command(flags.doctor),       version_command(flags.version), completion_command(flags.completion)};
}

std::string log_level_name(const std::string& command, const CommandFlags& flags) {
  const ModelFlags* model = nullptr;
  if (command == "decide") model = &flags.decide.model;
  if (command == "score") model = &flags.score.model;
  if (command == "eval") model = &flags.eval.model;
  if (command == "calibrate") model = &flags.calibrate.model;
  if (command == "teach") model = &flags.teach.model;
  if (command == "serve") model = &flags.serve.model;
  if (command == "sagemaker") model = &flags.sagemaker.serve.model;
  if (command == "verify") model = &flags.verify.model;
  if (command == "warm") model = &flags.warm.model;
  if (command == "inspect") model = &flags.inspect.model;
  if (command == "doctor") model = &flags.doctor.model;
  if (model != nullptr && !model->log_level.empty()) return model->log_level;
  return command == "serve" || command == "sagemaker" ? "info" : "warn";
}

}  // namespace assay::cli
