#include "cli/inspect_command.h"

#include <cstdint>
#include <ostream>
#include <utility>

#include "cli/json_fields.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

Value count_value(std::uint64_t count) { return Value(Value::Integer{std::to_string(count)}); }

// About 220 tokens of plain English for common vocabularies; `first` makes its beginning, and so all of it, new.
std::string sample_state(const std::string& first) {
  std::string out = first + ":";
  for (int i = 0; i < 20; ++i) out += " The parcel left the depot on time but arrived two days late.";
  return out;
}

Value check_value(const CheckScore& score) {
  return Value(Value::Object{{"readout", Value(readout_name(score.readout))},
                             {"type", Value(question_type_name(score.type))},
                             {"right", int_value(score.right)},
                             {"rows", int_value(score.rows)},
                             {"chance", Value(score.chance)},
                             {"p_value", Value(score.p_value)},
                             {"reliable", Value(score.reliable)}});
}

using Lines = std::vector<std::vector<std::string>>;

void add_model_lines(const ModelReport& report, Lines& lines) {
  lines.push_back({"model", report.id});
  lines.push_back({"file", report.path + " (" + byte_size(static_cast<double>(report.file_bytes)) + ")"});
  if (!report.sha256.empty()) lines.push_back({"sha256", report.sha256});
  lines.push_back({"architecture", report.architecture + (report.recurrent ? ", with recurrent layers" : "")});
  lines.push_back({"description", report.description});
  lines.push_back({"parameters", fixed(static_cast<double>(report.parameters) / 1e6, 1) + " million, hidden size " +
                                     std::to_string(report.hidden_size)});
  lines.push_back({"vocabulary", std::to_string(report.vocabulary_tokens) + " tokens"});
  lines.push_back({"context", std::to_string(report.context_tokens) + " tokens a request, trained for " +
                                  std::to_string(report.trained_context_tokens)});
  lines.push_back({"chat template", report.chat_template + ", system role " + report.system_role});
  lines.push_back({"thinking", report.thinking});
  if (!report.begin_of_text.empty()) lines.push_back({"beginning of text", report.begin_of_text});
  if (!report.decision_head.empty()) lines.push_back({"decision head", report.decision_head});
  lines.push_back({"letter labels", report.letter_labels});
  lines.push_back({"readout", std::string(readout_name(report.readout)) + " (by " + report.readout_source + ")"});
  lines.push_back({"layout", layout_name(report.layout)});
  lines.push_back({"deterministic", std::string(report.deterministic ? "yes" : "no") +
                                        (report.determinism.empty() ? "" : ": " + report.determinism)});
}

// How the packed weights came to be where they are.
std::string pack_cache_text(const ModelReport& report) {
  if (report.packing_behind) return " packed beside the start";
  const std::string seconds = " in " + fixed(report.packing_seconds, 2) + " s";
  if (report.pack_cache == "read") return " mapped from " + report.pack_cache_path + seconds;
  if (report.pack_cache == "written") return " packed and written to " + report.pack_cache_path + seconds;
  return (report.pack_cache == "failed" ? " packed (the pack cache cannot be used)" : " packed") + seconds;
}

void add_machine_lines(const ModelReport& report, const PrefillSpeed& speed, Lines& lines) {
  lines.push_back({"memory", byte_size(static_cast<double>(report.memory_needed_bytes)) + " needed, " +
                                 byte_size(static_cast<double>(report.memory_free_bytes)) + " were free"});
  lines.push_back({"threads", std::to_string(report.threads) +
                                  (report.extra_buffers ? ", packed weights" : ", weights as the file has them")});
  lines.push_back({"kernels", report.packing == "off"
                                  ? "llama.cpp's"
                                  : report.packing_unit + ", packing " + report.packing + ", " +
                                        byte_size(static_cast<double>(report.packed_bytes)) + pack_cache_text(report)});
  lines.push_back({"prefill", std::to_string(speed.tokens) + " tokens in " + fixed(speed.ms, 1) + " ms, " +
                                  fixed(speed.tokens_per_second(), 0) + " tokens/s"});
}

std::string check_table(const ModelReport& report) {
  if (report.check.empty()) return "";
  Lines lines = {{"built-in check", "type", "right", "rows", "chance", "p-value", ""}};
  for (const CheckScore& score : report.check) {
    lines.push_back({std::string("  ") + readout_name(score.readout), question_type_name(score.type),
                     std::to_string(score.right), std::to_string(score.rows), percent(score.chance),
                     fixed(score.p_value, 4), score.reliable ? "reliable" : "not above chance"});
  }
  return "\n" + text_table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                            Align::kLeft},
                           lines);
}

}  // namespace

CommandSpec inspect_command(InspectFlags& flags) {
  CommandSpec spec{.name = "inspect",
                   .summary = "Show what is known about a model, and its speed here",
                   .examples = "Example:\n  assay inspect model.gguf",
                   .options = {}};
  spec.options.push_back(
      as_file(as_positional(text_option("GGUF", "", "The model, as --model names it", &flags.positional_model))));
  spec.options.push_back(as_request_only(switch_option("json", "Print one JSON object", &flags.json)));
  spec.options.push_back(as_request_only(switch_option(
      "layouts", "Ask the built-in check's questions in both layouts: right answers and time", &flags.layouts)));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

Result<PrefillSpeed> measure_prefill(Decider& decider) {
  DecisionRequest request;
  Question question;
  question.id = "q";
  question.text = "Did the parcel arrive late?";
  question.type = QuestionType::kYesNo;
  question.options = {{"yes", std::nullopt}, {"no", std::nullopt}};
  request.questions = {question};
  PrefillSpeed speed;
  for (const char* first : {"First note", "Second note"}) {
    request.state = Value(sample_state(first));
    const Result<DecisionReply> reply = decider.decide(request);
    if (!reply.ok()) return reply.error();
    speed = {.tokens = reply->input_tokens, .ms = reply->compute_ms};
  }
  return speed;
}

Value inspect_value(const ModelReport& report, const PrefillSpeed& speed, const std::vector<LayoutScore>& layouts) {
  Value::Array check;
  for (const CheckScore& score : report.check) check.push_back(check_value(score));
  Value::Array warnings;
  for (const std::string& warning : report.warnings) warnings.push_back(Value(warning));
  return Value(
      Value::Object{{"id", Value(report.id)},
                    {"path", Value(report.path)},
                    {"sha256", report.sha256.empty() ? Value() : Value(report.sha256)},
                    {"architecture", Value(report.architecture)},
                    {"description", Value(report.description)},
                    {"file_bytes", count_value(report.file_bytes)},
                    {"weights_bytes", count_value(report.weights_bytes)},
                    {"parameters", count_value(report.parameters)},
                    {"vocabulary_tokens", int_value(report.vocabulary_tokens)},
                    {"trained_context_tokens", int_value(report.trained_context_tokens)},
                    {"context_tokens", int_value(report.context_tokens)},
                    {"hidden_size", int_value(report.hidden_size)},
                    {"threads", int_value(report.threads)},
                    {"recurrent", Value(report.recurrent)},
                    {"decision_head", report.decision_head.empty() ? Value() : Value(report.decision_head)},
                    {"chat_template", Value(report.chat_template)},
                    {"system_role", Value(report.system_role)},
                    {"thinking", Value(report.thinking)},
                    {"begin_of_text", report.begin_of_text.empty() ? Value() : Value(report.begin_of_text)},
                    {"letter_labels", Value(report.letter_labels)},
                    {"letter_label_count", int_value(report.letter_label_count)},
                    {"readout", Value(readout_name(report.readout))},
                    {"readout_source", Value(report.readout_source)},
                    {"layout", Value(layout_name(report.layout))},
                    {"layouts", layout_scores_value(layouts)},
                    {"deterministic", Value(report.deterministic)},
                    {"determinism", Value(report.determinism)},
                    {"check", Value(std::move(check))},
                    {"memory_needed_bytes", count_value(report.memory_needed_bytes)},
                    {"memory_free_bytes", count_value(report.memory_free_bytes)},
                    {"extra_buffers", Value(report.extra_buffers)},
                    {"packing", Value(report.packing)},
                    {"packing_unit", Value(report.packing_unit)},
                    {"packed_bytes", count_value(report.packed_bytes)},
                    {"packing_seconds", Value(report.packing_seconds)},
                    {"packing_behind", Value(report.packing_behind)},
                    {"pack_cache", Value(report.pack_cache)},
                    {"pack_cache_path", report.pack_cache_path.empty() ? Value() : Value(report.pack_cache_path)},
                    {"option_head", Value(report.option_head)},
                    {"prefill", Value(Value::Object{{"tokens", int_value(speed.tokens)},
                                                    {"ms", Value(speed.ms)},
                                                    {"tokens_per_second", Value(speed.tokens_per_second())}})},
                    {"warnings", Value(std::move(warnings))}});
}

std::string inspect_text(const ModelReport& report, const PrefillSpeed& speed,
                         const std::vector<LayoutScore>& layouts) {
  Lines lines;
  add_model_lines(report, lines);
  add_machine_lines(report, speed, lines);
  std::string out = text_table({Align::kLeft, Align::kLeft}, lines) + check_table(report) + layout_scores_text(layouts);
  for (const std::string& warning : report.warnings) out += "warning: " + warning + "\n";
  return out;
}

int run_inspect(const InspectFlags& flags, Streams& streams, const OpenDecider& open) {
  ModelFlags model = flags.model;
  if (!flags.positional_model.empty()) model.model = flags.positional_model;
  Result<DeciderOptions> options = decider_options(model);
  if (!options.ok()) return report_error(streams.err, options.error());
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  const Result<PrefillSpeed> speed = measure_prefill(**decider);
  if (!speed.ok()) return report_error(streams.err, speed.error());
  std::vector<LayoutScore> layouts;
  if (flags.layouts) {
    Result<std::vector<LayoutScore>> scored = score_layouts(**decider);
    if (!scored.ok()) return report_error(streams.err, scored.error());
    layouts = std::move(scored).value();
  }
  const ModelReport& report = (*decider)->report();
  streams.out << (flags.json ? to_json_text(inspect_value(report, *speed, layouts)) + "\n"
                             : inspect_text(report, *speed, layouts))
              << std::flush;
  return kExitOk;
}

}  // namespace assay::cli
