#include "cli/labelled_rows.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "cli/row_reader.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

Result<std::string> whole_text(const std::string& path, std::istream& standard_input) {
  std::ostringstream text;
  if (path == "-") {
    text << standard_input.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "'" + path + "' cannot be read", "FILE"};
  text << file.rdbuf();
  return text.str();
}

bool is_csv(const std::string& path) { return row_format_of_path(path) == RowFormat::kCsv; }

// The label of a line, where it has one that can be an option's id.
std::string label_of(const std::string& line) {
  const Result<Value> value = server::parse_json(line);
  if (!value.ok()) return {};
  const Value* const expected = value->find("expected");
  if (expected == nullptr) return {};
  if (expected->string() != nullptr) return *expected->string();
  if (expected->integer() != nullptr) return expected->integer()->digits;
  return {};
}

// The labels of all texts, in the order of their first coming.
std::vector<Option> options_of_labels(const std::vector<std::string>& texts) {
  std::vector<Option> options;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::string label = label_of(line);
      const auto is_it = [&](const Option& option) { return option.id == label; };
      if (label.empty() || std::any_of(options.begin(), options.end(), is_it)) continue;
      options.push_back({.id = std::move(label), .description = std::nullopt});
    }
  }
  return options;
}

// The question for rows that have none of their own.
Result<std::optional<Question>> default_question(const LabelledFiles& files, const std::vector<std::string>& texts) {
  const QuestionFlags& flags = files.question;
  if (!flags.any()) return std::optional<Question>();
  if (!flags.options.empty() || flags.yes_no || !flags.scale.empty()) {
    Result<Question> question = question_from_flags(flags);
    if (!question.ok()) return question.error();
    return std::optional<Question>(std::move(*question));
  }
  if (std::any_of(files.files.begin(), files.files.end(), is_csv))
    return invalid_argument("--option",
                            "rows of CSV need their options: --option (once for each), --yes-no or --scale");
  return std::optional<Question>(
      Question{.id = "q", .text = flags.question, .options = options_of_labels(texts), .cues = {}});
}

Status read_file(const std::string& path, const std::string& text, const LabelledFiles& files,
                 const std::optional<Question>& question, std::vector<LabelledQuestion>& out) {
  std::istringstream in(text);
  const RowRules rules{.order = option_order_from_name(files.option_order).value_or(OptionOrder::kCriteria),
                       .defaults = question ? &*question : nullptr};
  std::unique_ptr<RowReader> reader;
  if (is_csv(path)) {
    if (!question) return invalid_argument("--question", "rows of CSV need --question and their options");
    Result<std::unique_ptr<RowReader>> csv = open_csv(in, CsvColumns{}, rules);
    if (!csv.ok()) return csv.error();
    reader = std::move(*csv);
  } else {
    reader = open_json_lines(in, rules);
  }
  std::size_t count = 0;
  while (std::optional<SourceRow> source = reader->next()) {
    const std::string where = "'" + path + "', row " + std::to_string(source->number);
    if (!source->row.ok())
      return invalid_argument(source->row.error().field, where + ": " + source->row.error().message);
    if (!source->row->expected) return invalid_argument("expected", where + ": 'expected' is missing");
    LabelledQuestion row{.state = std::move(source->row->state),
                         .question = std::move(source->row->question),
                         .expected = *source->row->expected,
                         .where = where};
    if (row.question.id.empty()) row.question.id = "q";
    out.push_back(std::move(row));
    if (++count == files.limit) break;
  }
  if (count == 0) return invalid_argument("FILE", "'" + path + "' holds no rows");
  return Status();
}

}  // namespace

Result<std::vector<LabelledQuestion>> read_labelled(const LabelledFiles& files, std::istream& standard_input) {
  if (files.files.empty()) return invalid_argument("FILE", "name at least one file");
  std::vector<std::string> texts;
  for (const std::string& path : files.files) {
    Result<std::string> text = whole_text(path, standard_input);
    if (!text.ok()) return text.error();
    texts.push_back(std::move(*text));
  }
  const Result<std::optional<Question>> question = default_question(files, texts);
  if (!question.ok()) return question.error();
  std::vector<LabelledQuestion> rows;
  for (std::size_t i = 0; i < texts.size(); i++) {
    const Status read = read_file(files.files[i], texts[i], files, *question, rows);
    if (!read.ok()) return read.error();
  }
  return rows;
}

std::vector<OptionSpec> labelled_options(LabelledFiles& files) {
  std::vector<OptionSpec> out;
  out.push_back(
      as_file(as_positional(list_option("FILE", "", "JSONL or CSV with labelled rows, or - for stdin", &files.files))));
  for (OptionSpec& option : question_options(files.question)) out.push_back(std::move(option));
  out.push_back(as_request_only(choice_option("option-order", "JevBench choice rows: the options' order",
                                              {"criteria", "labels", "reversed"}, &files.option_order)));
  out.push_back(as_request_only(
      number_option("limit", "N", "Only the first N rows of each file; 0: all", &files.limit, 0, 1'000'000'000)));
  return out;
}

}  // namespace assay::cli
