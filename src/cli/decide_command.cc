#include "cli/decide_command.h"

#include <ostream>
#include <utility>

#include "cli/answer_json.h"
#include "cli/answer_text.h"
#include "cli/decide_input.h"
#include "cli/receipt_json.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay decide -m model.gguf --state \"My card was charged twice.\" --question \"What does the customer want?\" "
    "\\\n"
    "      --option refund=\"Wants money back\" --option info=\"Asks how it works\"\n"
    "  assay decide -m model.gguf --state-file mail.txt --question \"Is this spam?\" --yes-no --json\n"
    "  assay decide -m model.gguf body.json     (the body of POST /v1/decide, a row of `assay score`, or - for stdin)";

DecisionRequest request_of(const DecideInput& input, const DecideFlags& flags) {
  DecisionRequest request;
  request.state = input.rows.front().state;
  request.images = input.images;
  request.explain = flags.explain;
  request.layout = layout_from_name(flags.layout).value_or(Layout::kAuto);
  request.receipt = flags.receipt;
  for (const Row& row : input.rows) {
    request.questions.push_back(row.question);
    request.questions.back().id = "q" + std::to_string(request.questions.size());
  }
  return request;
}

Value reply_value(const DecideInput& input, const DecisionReply& reply, bool explain) {
  Value::Array results;
  for (std::size_t i = 0; i < input.rows.size(); ++i) {
    const Row& row = input.rows[i];
    Value::Object members = decide_members(row, reply.answers[i], explain);
    if (reply.answers[i].reliability == Reliability::kUnreliable) {
      members.push_back({"warning", Value(reliability_warning(row.question.type))});
    }
    results.push_back(Value(std::move(members)));
  }
  Value::Object out;
  if (input.is_list) {
    out.push_back({"results", Value(std::move(results))});
  } else {
    out = *results.front().object();
  }
  if (reply.receipt) out.push_back({"receipt", receipt_value(*reply.receipt)});
  out.push_back({"timing", timing_value(reply)});
  return Value(std::move(out));
}

void print_text(const DecideInput& input, const DecisionReply& reply, bool explain, Streams& streams) {
  for (std::size_t i = 0; i < input.rows.size(); ++i) {
    if (i > 0) streams.out << "\n";
    if (explain) streams.out << explain_text(reply.answers[i]) << "\n";
    streams.out << answer_table(input.rows[i], reply.answers[i], streams.colours);
  }
  if (reply.receipt) streams.out << receipt_text(*reply.receipt);
  streams.out << reply.input_tokens << " input tokens, " << fixed(reply.compute_ms, 1) << " ms\n";
}

}  // namespace

CommandSpec decide_command(DecideFlags& flags) {
  CommandSpec spec{.name = "decide",
                   .summary = "Decide once and print the options' probabilities",
                   .examples = kExamples,
                   .options = {}};
  spec.options.push_back(as_file(as_positional(text_option("FILE", "", "JSON body, or - for stdin", &flags.file))));
  spec.options.push_back(as_request_only(with_short_name(text_option("state", "TEXT",
                                                                     "What the question is about; "
                                                                     "default: stdin",
                                                                     &flags.state),
                                                         "s")));
  spec.options.push_back(as_request_only(
      as_file(text_option("state-file", "FILE", "A file that holds the state, or -", &flags.state_file))));
  spec.options.push_back(
      as_request_only(switch_option("state-json", "The state is JSON: an object or an array", &flags.state_json)));
  spec.options.push_back(as_request_only(as_file(list_option(
      "image", "FILE", "A PNG or JPEG that the model sees before the state; needs --mmproj", &flags.images))));
  for (OptionSpec& option : question_options(flags.question)) spec.options.push_back(std::move(option));
  spec.options.push_back(as_request_only(switch_option("json", "Print JSON on a terminal, too", &flags.json)));
  spec.options.push_back(as_request_only(switch_option("explain",
                                                       "Show the exact prompt, its token ids and what each "
                                                       "option's tokens scored",
                                                       &flags.explain)));
  spec.options.push_back(
      as_request_only(switch_option("receipt", "Add hashes of what was computed and what came out", &flags.receipt)));
  spec.options.push_back(layout_option(&flags.layout));
  spec.options.push_back(mmproj_option(flags.model));
  spec.options.push_back(snapshots_option(flags.model));
  spec.options.push_back(lessons_option(flags.model));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

int run_decide(const DecideFlags& flags, Streams& streams, const OpenDecider& open) {
  Result<DeciderOptions> options = decider_options(flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  const Result<DecideInput> input = read_decide_input(flags, streams);
  if (!input.ok()) return report_error(streams.err, input.error());
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  const Result<DecisionReply> reply = (*decider)->decide(request_of(*input, flags));
  if (!reply.ok()) {
    return report_error(streams.err, input->rows.size() == 1 ? row_error(reply.error()) : reply.error());
  }
  if (flags.receipt && !reply->receipt) return report_error(streams.err, no_receipt_error());
  if (streams.out_is_terminal && !flags.json) {
    print_text(*input, *reply, flags.explain, streams);
  } else {
    streams.out << to_json_text(reply_value(*input, *reply, flags.explain)) << "\n";
  }
  streams.out.flush();
  if (streams.out) return kExitOk;
  return report_error(streams.err, Error{ErrorCode::kIo, "writing the answer failed", ""});
}

}  // namespace assay::cli
