#include "cli/decide_input.h"

#include <fstream>
#include <istream>
#include <iterator>
#include <utility>

#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

Result<std::string> read_text(const std::string& path, const Streams& streams) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(streams.in), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "'" + path + "' cannot be read", ""};
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return Error{ErrorCode::kIo, "reading '" + path + "' failed", ""};
  return text;
}

Error below(const std::string& root, Error error) {
  error.field = error.field.empty() ? root : root + "." + error.field;
  return error;
}

Result<DecideInput> input_from_list(const Value& list) {
  if (!list.is_array() || list.array()->empty()) {
    return invalid_argument("decisions", "'decisions' is a list with at least one decision");
  }
  DecideInput input{.rows = {}, .is_list = true};
  for (const Value& item : *list.array()) {
    const std::string root = "decisions[" + std::to_string(input.rows.size()) + "]";
    Result<Row> row = row_from_json(item, {});
    if (!row.ok()) return below(root, row.error());
    if (!input.rows.empty() && row->state != input.rows.front().state) {
      return invalid_argument(root + ".state", root + ".state differs from the first; decisions share one state");
    }
    input.rows.push_back(std::move(*row));
  }
  return input;
}

Result<Value> state_from_flags(const DecideFlags& flags, const Streams& streams) {
  std::string text = flags.state.value_or("");
  if (flags.state_file) {
    if (flags.state) return invalid_argument("--state", "give either --state or --state-file");
    Result<std::string> read = read_text(*flags.state_file, streams);
    if (!read.ok()) return read.error();
    text = std::move(*read);
  } else if (!flags.state) {
    if (streams.in_is_terminal) return invalid_argument("--state", "no state: give --state or --state-file");
    text.assign(std::istreambuf_iterator<char>(streams.in), {});
  }
  if (!flags.state_json) return Value(std::move(text));
  const Result<Value> parsed = server::parse_json(text);
  if (!parsed.ok()) return invalid_argument("--state-json", "the state is no JSON: " + parsed.error().message);
  if (!parsed->is_object() && !parsed->is_array() && !parsed->is_string()) {
    return invalid_argument("--state-json", "a JSON state is an object, an array or a string");
  }
  return *parsed;
}

}  // namespace

Result<DecideInput> decide_input_from_json(const std::string& text) {
  const Result<Value> body = server::parse_json(text);
  if (!body.ok()) return body.error();
  const Value* const one = body->find("decision");
  const Value* const list = body->find("decisions");
  if (one != nullptr && list != nullptr) {
    return invalid_argument("decisions", "the body has 'decision' and 'decisions'; it takes one of them");
  }
  if (list != nullptr) return input_from_list(*list);
  Result<Row> row = row_from_json(one != nullptr ? *one : *body, {});
  if (!row.ok()) return one != nullptr ? below("decision", row.error()) : row.error();
  return DecideInput{.rows = {std::move(*row)}, .is_list = false};
}

namespace {

Result<DecideInput> read_question(const DecideFlags& flags, const Streams& streams) {
  if (!flags.file.empty()) {
    if (flags.question.any() || flags.state || flags.state_file) {
      return invalid_argument("FILE", "give either a file or --state and --question, not both");
    }
    const Result<std::string> text = read_text(flags.file, streams);
    if (!text.ok()) return text.error();
    return decide_input_from_json(*text);
  }
  if (!flags.question.any() && !flags.state && !flags.state_file) {
    return invalid_argument("--question",
                            "nothing to decide: give --state, --question and --option, or a JSON file "
                            "('assay decide --help' has examples)");
  }
  Result<Question> question = question_from_flags(flags.question);
  if (!question.ok()) return question.error();
  Result<Value> state = state_from_flags(flags, streams);
  if (!state.ok()) return state.error();
  Row row;
  row.question = std::move(*question);
  row.state = std::move(*state);
  return DecideInput{.rows = {std::move(row)}, .is_list = false};
}

}  // namespace

Result<DecideInput> read_decide_input(const DecideFlags& flags, const Streams& streams) {
  Result<DecideInput> input = read_question(flags, streams);
  if (!input.ok()) return input;
  if (!flags.images.empty() && flags.model.mmproj.empty())
    return invalid_argument("--image", "--image needs a projector: name the model's with --mmproj");
  for (const std::string& path : flags.images) {
    Result<std::string> file = read_text(path, streams);
    if (!file.ok()) return file.error();
    if (const Result<ImageFacts> facts = check_image(*file); !facts.ok())
      return invalid_argument("--image", "--image: '" + path + "' " + facts.error().message);
    input->images.push_back({.file = std::make_shared<const std::string>(std::move(*file)), .name = {}});
  }
  return input;
}

}  // namespace assay::cli
