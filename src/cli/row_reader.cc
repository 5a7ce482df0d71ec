#include "cli/row_reader.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "cli/json_fields.h"
#include "cli/suggest.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

Value fallback_id(std::size_t number) { return Value("row-" + std::to_string(number)); }

class JsonLinesReader final : public RowReader {
 public:
  JsonLinesReader(std::istream& in, RowRules rules) : in_(in), rules_(rules) {}

  std::optional<SourceRow> next() override {
    std::string line;
    while (std::getline(in_, line)) {
      if (number_ == 0 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      ++number_;
      return read(line);
    }
    return std::nullopt;
  }

 private:
  SourceRow read(const std::string& line) const {
    Result<Value> value = server::parse_json(line);
    if (!value.ok()) return {number_, value.error(), fallback_id(number_), {}};
    const Value* const id = value->find("id");
    const bool has_id = id != nullptr && (id->is_string() || id->integer() != nullptr);
    Value shown = has_id ? *id : fallback_id(number_);
    Result<Row> row = row_from_json(*value, rules_);
    if (row.ok()) row->id = shown;
    return {number_, std::move(row), std::move(shown), {}};
  }

  std::istream& in_;
  const RowRules rules_;
  std::size_t number_ = 0;
};

class CsvRowReader final : public RowReader {
 public:
  // Indexes of the columns in use.
  struct Places {
    std::size_t state = 0;
    std::optional<std::size_t> id;
    std::optional<std::size_t> expected;
    std::optional<std::size_t> question;
  };

  CsvRowReader(CsvReader reader, CsvRecord header, Places places, RowRules rules)
      : reader_(std::move(reader)), header_(std::move(header)), places_(places), rules_(rules) {}

  std::optional<SourceRow> next() override {
    std::optional<CsvRecord> record = reader_.next();
    if (!record) return std::nullopt;
    ++number_;
    Value id = fallback_id(number_);
    if (places_.id && *places_.id < record->fields.size()) id = Value(record->fields[*places_.id]);
    Result<Row> row = read(*record, id);
    // A record of another width would move the columns that are added behind it.
    record->fields.resize(header_.fields.size());
    return SourceRow{number_, std::move(row), std::move(id), std::move(record->fields)};
  }

  const CsvRecord* header() const override { return &header_; }

 private:
  Result<Row> read(const CsvRecord& record, const Value& id) const {
    if (!record.fault.empty()) return invalid_argument("", record.fault);
    if (record.fields.size() != header_.fields.size()) {
      return invalid_argument("", "the record has " + std::to_string(record.fields.size()) +
                                      " fields, the header has " + std::to_string(header_.fields.size()));
    }
    Row row;
    row.id = id;
    row.state = Value(record.fields[places_.state]);
    row.question = *rules_.defaults;
    if (places_.question) row.question.text = record.fields[*places_.question];
    if (places_.expected && !record.fields[*places_.expected].empty()) {
      const Result<std::size_t> index = expected_option(Value(record.fields[*places_.expected]), row.question.options);
      if (!index.ok()) return index.error();
      row.expected = *index;
    }
    return row;
  }

  CsvReader reader_;
  const CsvRecord header_;
  const Places places_;
  const RowRules rules_;
  std::size_t number_ = 0;
};

std::optional<std::size_t> column_index(const CsvRecord& header, const std::string& name) {
  const auto found = std::find(header.fields.begin(), header.fields.end(), name);
  if (found == header.fields.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.fields.begin());
}

Error no_column(const CsvRecord& header, const std::string& flag, const std::string& name) {
  std::string known;
  for (const std::string& field : header.fields) known += (known.empty() ? "" : ", ") + field;
  return invalid_argument(flag, "the CSV has no column '" + name + "'" + suggestion_text(name, header.fields) +
                                    " It has: " + readable_text(known, 400) + " (" + flag + " names it)");
}

}  // namespace

std::optional<RowFormat> row_format_of_path(const std::string& path) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower.ends_with(".csv")) return RowFormat::kCsv;
  for (const char* end : {".jsonl", ".ndjson", ".json"}) {
    if (lower.ends_with(end)) return RowFormat::kJsonLines;
  }
  return std::nullopt;
}

std::unique_ptr<RowReader> open_json_lines(std::istream& in, RowRules rules) {
  return std::make_unique<JsonLinesReader>(in, rules);
}

Result<std::unique_ptr<RowReader>> open_csv(std::istream& in, const CsvColumns& columns, RowRules rules) {
  ASSAY_ASSERT(rules.defaults != nullptr);
  CsvReader reader(in);
  std::optional<CsvRecord> header = reader.next();
  if (!header) return invalid_argument("", "the CSV is empty: it needs a header line");
  if (!header->fault.empty()) return invalid_argument("", "the CSV's header: " + header->fault);
  const std::optional<std::size_t> state = column_index(*header, columns.state);
  if (!state) return no_column(*header, "--state-column", columns.state);
  CsvRowReader::Places places{*state, column_index(*header, columns.id), column_index(*header, columns.expected), {}};
  if (!columns.question.empty()) {
    places.question = column_index(*header, columns.question);
    if (!places.question) return no_column(*header, "--question-column", columns.question);
  }
  return std::unique_ptr<RowReader>(
      std::make_unique<CsvRowReader>(std::move(reader), std::move(*header), places, rules));
}

}  // namespace assay::cli
