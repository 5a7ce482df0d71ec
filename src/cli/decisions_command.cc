#include "cli/decisions_command.h"

#include <fstream>
#include <ostream>
#include <string_view>
#include <utility>

#include "assay/lesson_desk.h"

namespace assay::cli {
namespace {

constexpr std::int64_t kPlaceMax = std::int64_t{1} << 53;

constexpr const char* kExamples =
    "Examples:\n"
    "  assay decisions export --from lessons -o kept.jsonl\n"
    "  assay verify kept.jsonl -m model.gguf --lessons lessons\n"
    "  assay decisions export --from decisions.sqlite --labelled --after 1200\n"
    "A line for each decision, in the order in which they were made (docs/decisions.md). The last line's \"place\" is "
    "what\n"
    "--after goes on from.";

}  // namespace

CommandSpec decisions_command(DecisionsFlags& flags) {
  CommandSpec spec{.name = "decisions",
                   .summary = "Export what a server kept of its decisions",
                   .examples = kExamples,
                   .options = {}};
  spec.options.push_back(as_positional(choice_option("WHAT", "export", {"export"}, &flags.what)));
  spec.options.push_back(as_folder(text_option(
      "from", "PLACE", "The file that --decisions names, or the folder of lessons that it lies in", &flags.from)));
  spec.options.push_back(with_short_name(
      as_file(text_option("output", "FILE", "Where the lines go; default: standard output", &flags.output)), "o"));
  spec.options.push_back(number_option("after", "N", "Begin behind the decision of this place; 0: with the first",
                                       &flags.after, 0, kPlaceMax));
  spec.options.push_back(number_option("limit", "N", "So many lines at most; 0: all", &flags.limit, 0, kPlaceMax));
  spec.options.push_back(
      switch_option("labelled", "Those alone of which somebody has said what was right", &flags.labelled));
  for (OptionSpec& option : spec.options) option.configurable = false;
  return spec;
}

int run_decisions(const DecisionsFlags& flags, Streams& streams) {
  if (flags.what != "export")
    return report_error(streams.err, invalid_argument("WHAT", "say what is wanted: assay decisions export"));
  if (flags.from.empty())
    return report_error(streams.err,
                        invalid_argument("--from", "--from is missing: a file of decisions, or its folder"));
  std::ofstream file;
  const bool is_file = !flags.output.empty() && flags.output != "-";
  std::size_t lines = 0;
  const auto write = [&](std::string_view line) {
    // Made with the first line, so that a wrong --from leaves what is there alone.
    if (is_file && lines == 0) file.open(flags.output, std::ios::binary | std::ios::trunc);
    std::ostream& out = is_file ? file : streams.out;
    out << line << '\n';
    ++lines;
    return static_cast<bool>(out);
  };
  const ExportQuery query{.after = static_cast<std::int64_t>(flags.after),
                          .limit = static_cast<std::size_t>(flags.limit),
                          .labelled_only = flags.labelled};
  if (const Status done = export_decisions(flags.from, query, write); !done.ok())
    return report_error(streams.err, done.error());
  if (is_file && lines == 0) file.open(flags.output, std::ios::binary | std::ios::trunc);
  std::ostream& out = is_file ? file : streams.out;
  out.flush();
  if (!out)
    return report_error(
        streams.err, Error{ErrorCode::kIo,
                           "the lines cannot be written to " + (is_file ? "'" + flags.output + "'" : "standard output"),
                           "--output"});
  if (is_file) streams.err << "assay: " << lines << " decisions\n";
  return kExitOk;
}

}  // namespace assay::cli
