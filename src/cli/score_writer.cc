#include "cli/score_writer.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "cli/answer_json.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

Error other_input(const SourceRow& source, const std::string& what) {
  return invalid_argument("-o", "row " + std::to_string(source.number) + " of the output " + what);
}

// The probabilities of a row that was read back, as an answer that `labelled` understands.
Result<DoneRow> done_row(const SourceRow& source, const std::vector<double>& probabilities) {
  Answer answer;
  for (const double probability : probabilities) {
    OptionAnswer option;
    option.probability = probability;
    answer.options.push_back(option);
    if (probability > answer.options[answer.best].probability) answer.best = answer.options.size() - 1;
  }
  return DoneRow{.failed = false, .labelled = labelled(*source.row, answer)};
}

class JsonLinesWriter final : public ScoreWriter {
 public:
  std::string header() const override { return ""; }

  std::string line(const SourceRow& source, const Answer& answer) const override {
    return to_json_text(Value(score_members(*source.row, answer))) + "\n";
  }

  std::string error_line(const SourceRow& source, const Error& error) const override {
    return to_json_text(Value(Value::Object{{"id", source.id}, {"error", error_value(error)}})) + "\n";
  }

  Result<DoneRow> read_line(const SourceRow& source, const std::string& line) const override {
    const Result<Value> value = server::parse_json(line);
    if (!value.ok()) return other_input(source, "is no JSON: " + value.error().message);
    const Value* const id = value->find("id");
    if (id == nullptr || *id != source.id) {
      return other_input(source, "has the id " + (id == nullptr ? "null" : to_json_text(*id)) + ", the input has " +
                                     to_json_text(source.id));
    }
    if (value->find("error") != nullptr) return DoneRow{.failed = true, .labelled = {}};
    const Value* const shares = value->find("probabilities");
    if (!source.row.ok() || shares == nullptr || !shares->is_object()) {
      return other_input(source, "does not fit the input's row");
    }
    const std::vector<Option>& options = source.row->question.options;
    std::vector<double> probabilities;
    for (const Value::Member& member : *shares->object()) {
      const bool fits = probabilities.size() < options.size() && member.second.number() != nullptr &&
                        member.first == options[probabilities.size()].id;
      if (!fits) return other_input(source, "has other options than the input's row");
      probabilities.push_back(*member.second.number());
    }
    if (probabilities.size() != options.size()) return other_input(source, "has other options than the input's row");
    return done_row(source, probabilities);
  }
};

class CsvWriter final : public ScoreWriter {
 public:
  CsvWriter(std::vector<std::string> columns, std::size_t input_columns, bool crlf)
      : columns_(std::move(columns)), input_columns_(input_columns), crlf_(crlf) {}

  std::string header() const override { return csv_line(columns_, crlf_); }

  std::string line(const SourceRow& source, const Answer& answer) const override {
    std::vector<std::string> fields = source.columns;
    fields.push_back(answer.options[answer.best].id);
    fields.push_back(to_json_text(Value(answer.options[answer.best].probability)));
    for (const OptionAnswer& option : answer.options) fields.push_back(to_json_text(Value(option.probability)));
    fields.emplace_back();
    return csv_line(fields, crlf_);
  }

  std::string error_line(const SourceRow& source, const Error& error) const override {
    std::vector<std::string> fields = source.columns;
    fields.resize(columns_.size());
    fields.back() = std::string(error_name(error.code)) + ": " + error.message;
    return csv_line(fields, crlf_);
  }

  Result<DoneRow> read_line(const SourceRow& source, const std::string& line) const override {
    std::istringstream stream(line);
    const std::optional<CsvRecord> record = CsvReader(stream).next();
    const bool same = record && record->fields.size() == columns_.size() && source.columns.size() == input_columns_ &&
                      std::equal(source.columns.begin(), source.columns.end(), record->fields.begin());
    if (!same) return other_input(source, "does not begin with the input's columns");
    if (!record->fields.back().empty()) return DoneRow{.failed = true, .labelled = {}};
    std::vector<double> probabilities;
    for (std::size_t i = input_columns_ + 2; i + 1 < columns_.size(); ++i) {
      const std::string& text = record->fields[i];
      double probability = 0;
      const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), probability);
      if (code != std::errc() || rest != text.data() + text.size()) return other_input(source, "has no probabilities");
      probabilities.push_back(probability);
    }
    if (!source.row.ok()) return other_input(source, "does not fit the input's row");
    return done_row(source, probabilities);
  }

 private:
  const std::vector<std::string> columns_;
  const std::size_t input_columns_;
  const bool crlf_;
};

}  // namespace

std::unique_ptr<ScoreWriter> json_lines_writer() { return std::make_unique<JsonLinesWriter>(); }

Result<std::unique_ptr<ScoreWriter>> csv_writer(const CsvRecord& header, const Question& question) {
  std::vector<std::string> columns = header.fields;
  std::vector<std::string> added = {"choice", "probability"};
  for (const Option& option : question.options) added.push_back("p_" + option.id);
  added.emplace_back("error");
  for (const std::string& name : added) {
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
      return invalid_argument("IN", "the input has a column '" + name + "', which the output would have twice");
    }
    columns.push_back(name);
  }
  return std::unique_ptr<ScoreWriter>(
      std::make_unique<CsvWriter>(std::move(columns), header.fields.size(), header.crlf));
}

}  // namespace assay::cli
