#include "service/lesson_rows.h"

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <utility>

#include "base/sha256.h"

namespace assay::service {
namespace {

constexpr std::size_t kPageRows = 1000;

// Pages until there are no more.
Status each_answer(store::DecisionStore& store, const store::AnswerFilter& filter,
                   const std::function<void(const store::AnswerRow& row)>& take) {
  std::optional<std::int64_t> after;
  while (true) {
    const Result<std::vector<store::AnswerRow>> page = store.answers(filter, after, kPageRows);
    if (!page.ok()) return page.error();
    for (const store::AnswerRow& row : *page) take(row);
    if (page->size() < kPageRows) return {};
    after = page->back().place;
  }
}

std::optional<std::size_t> place_of(const Question& question, const std::string& id) {
  for (std::size_t i = 0; i < question.options.size(); i++) {
    if (question.options[i].id == id) return i;
  }
  return std::nullopt;
}

class RowsByState {
 public:
  void put(LabelledQuestion row) {
    const auto [at, is_new] = places_.try_emplace(row.state_sha256, rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
    } else {
      rows_[at->second] = std::move(row);
    }
  }
  std::vector<LabelledQuestion> take() { return std::move(rows_); }

 private:
  std::vector<LabelledQuestion> rows_;
  std::unordered_map<std::string, std::size_t> places_;
};

// The rows that `assay teach` left.
Status read_file(const RowSources& from, const Question& question, RowsByState& rows) {
  std::ifstream file(from.rows_path, std::ios::binary);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = "'" + from.rows_path + "', line " + std::to_string(++number);
    const Result<Value> value = from.parse_json(line);
    const Value* const state = value.ok() ? value->find("state") : nullptr;
    const Value* const expected = value.ok() ? value->find("expected") : nullptr;
    if (state == nullptr || expected == nullptr || expected->string() == nullptr)
      return invalid_argument("name", where + " is no labelled row.");
    const std::optional<std::size_t> place = place_of(question, *expected->string());
    if (!place) return invalid_argument("name", where + ": \"" + *expected->string() + "\" is no option.");
    rows.put({.state = *state,
              .question = question,
              .expected = *place,
              .where = where,
              .decision_id = {},
              .state_sha256 = sha256_hex(to_json_text(*state))});
  }
  return {};
}

}  // namespace

std::optional<std::string> stored_fingerprint(const Question& question, const std::vector<Option>& order) {
  std::vector<Option> options;
  for (const Option& option : order) {
    const std::optional<std::size_t> place = place_of(question, option.id);
    if (!place) return std::nullopt;
    options.push_back(question.options[*place]);
  }
  if (options.size() != question.options.size()) return std::nullopt;
  return store::question_fingerprint(question.text, question.type, options);
}

std::optional<LabelledQuestion> row_of(const store::AnswerRow& answer, const Question& question,
                                       const std::vector<std::string>& cues, const HiddenStates& kept_states,
                                       const std::function<Result<Value>(const std::string&)>& parse_json) {
  if (!answer.answer.label) return std::nullopt;
  const std::optional<std::size_t> place = place_of(question, answer.answer.options[answer.answer.label->option].id);
  if (!place) return std::nullopt;
  LabelledQuestion out{.state = Value(),
                       .question = question,
                       .expected = *place,
                       .where = "decision " + answer.decision_id,
                       .decision_id = answer.decision_id,
                       .state_sha256 = answer.state_sha256};
  if (!answer.state.empty()) {
    Result<Value> state = parse_json(answer.state);
    if (!state.ok()) return std::nullopt;
    out.state = std::move(state).value();
  }
  if (!out.state.is_null()) return out;
  if (cues.empty() || !kept_states.find(question, cues, out.state_sha256)) return std::nullopt;
  return out;
}

Result<LabelledRows> labelled_rows(const RowSources& from, const Question& question,
                                   const std::vector<std::string>& cues, const HiddenStates& kept_states) {
  LabelledRows out;
  RowsByState rows;
  if (Status read = read_file(from, question, rows); !read.ok()) return read.error();
  const Result<std::vector<store::QuestionCount>> asked = from.store.questions();
  if (!asked.ok()) return asked.error();
  for (const store::QuestionCount& kept : *asked) {
    // The same options in another order are the same question to a lesson, and another to the store.
    if (kept.labelled == 0 || stored_fingerprint(question, kept.options) != kept.fingerprint) continue;
    out.questions.insert(kept.fingerprint);
    const store::AnswerFilter filter{.fingerprint = kept.fingerprint, .labelled_only = true};
    const auto take = [&](const store::AnswerRow& answer) {
      std::optional<LabelledQuestion> row = row_of(answer, question, cues, kept_states, from.parse_json);
      if (row) {
        rows.put(std::move(*row));
      } else {
        out.left_out++;
      }
    };
    if (Status read = each_answer(from.store, filter, take); !read.ok()) return read.error();
  }
  out.rows = rows.take();
  out.without_text = static_cast<std::size_t>(
      std::count_if(out.rows.begin(), out.rows.end(), [](const LabelledQuestion& row) { return row.state.is_null(); }));
  return out;
}

}  // namespace assay::service
