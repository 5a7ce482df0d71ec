#include "cli/rows.h"

#include <gtest/gtest.h>

#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

Result<Row> read(const std::string& text, const RowRules& rules = {}) {
  return row_from_json(*server::parse_json(text), rules);
}

std::string fault(const std::string& text) {
  const Result<Row> row = read(text);
  return row.ok() ? "no fault" : row.error().field + ": " + row.error().message;
}

TEST(Rows, ReadsOwnRows) {
  const Result<Row> row = read(R"({"id":"r1","state":{"b":1,"a":2},"question":"Which?",
      "options":["x",{"id":"y","description":"Why"},{"id":"z","description":null}],"expected":"y","family":"f"})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->id_text(), "r1");
  EXPECT_EQ(to_json_text(row->state), R"({"b": 1, "a": 2})");
  ASSERT_EQ(row->question.options.size(), 3u);
  EXPECT_EQ(row->question.options[1].description, "Why");
  EXPECT_EQ(row->question.options[2].description, std::nullopt);
  EXPECT_EQ(row->expected, 1u);
  EXPECT_EQ(row->family, "f");
  EXPECT_EQ(row->question.type, QuestionType::kChoice);
}

TEST(Rows, IdsMayBeIntegersOrAbsent) {
  EXPECT_EQ(read(R"({"id":12,"state":"s","question":"q","options":["a"]})")->id_text(), "12");
  EXPECT_EQ(read(R"({"state":"s","question":"q","options":["a"]})")->id_text(), "");
}

TEST(Rows, YesNoRowsNeedNoOptions) {
  const Result<Row> row = read(R"({"state":"s","question":"q","type":"yes_no","expected":"no"})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->question.options[1].id, "no");
  EXPECT_EQ(row->expected, 1u);
}

TEST(Rows, DefaultsFillWhatARowLeavesOut) {
  Question question;
  question.text = "Default?";
  question.options = {{"a", std::nullopt}, {"b", std::nullopt}};
  EXPECT_EQ(read(R"({"state":"s"})", {.defaults = &question})->question.text, "Default?");
  const Result<Row> own = read(R"({"state":"s","question":"Own?","options":["c"]})", {.defaults = &question});
  EXPECT_EQ(own->question.text, "Own?");
  EXPECT_EQ(own->question.options.size(), 1u);
}

TEST(Rows, OptionIdsImplyTheType) {
  const auto type = [](const std::string& options) {
    return read(R"({"state":"s","question":"q","options":)" + options + "}")->question.type;
  };
  EXPECT_EQ(type(R"(["Yes","no"])"), QuestionType::kYesNo);
  EXPECT_EQ(type(R"(["false","true"])"), QuestionType::kYesNo);
  EXPECT_EQ(type(R"(["yes","true"])"), QuestionType::kChoice);
  EXPECT_EQ(type(R"(["0","1","2"])"), QuestionType::kScale);
  EXPECT_EQ(type(R"(["0","1"])"), QuestionType::kChoice);
  EXPECT_EQ(type(R"(["1","2","3"])"), QuestionType::kChoice);
}

TEST(Rows, DeciderErrorsAreToldInTheRowsTerms) {
  const Error error = row_error(invalid_argument("questions[0].options[1].id", "questions[0].options[1].id is empty"));
  EXPECT_EQ(error.field, "options[1].id");
  EXPECT_EQ(error.message, "options[1].id is empty");
  EXPECT_EQ(row_error(invalid_argument("questions[0].text", "")).field, "question");
}

TEST(Rows, FaultsNameTheField) {
  EXPECT_EQ(fault("[]"), ": a row is a JSON object");
  EXPECT_EQ(fault(R"({"question":"q","options":["a"]})"), "state: 'state' is missing");
  EXPECT_EQ(fault(R"({"state":3,"question":"q","options":["a"]})"),
            "state: 'state' is a string, an object or an array");
  EXPECT_EQ(fault(R"({"state":"s","options":["a"]})"), "question: 'question' is missing");
  EXPECT_EQ(fault(R"({"state":"s","question":"q"})"), "options: 'options' is missing");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":"a"})"), "options: 'options' must be an array");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":["a",1]})"),
            "options[1]: an option is an id or an object with an 'id'");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":[{"description":"d"}]})"), "options[0].id: 'id' is missing");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":[{"id":"a","description":1}]})"),
            "options[0].description: 'description' must be a string");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":["a"],"expected":"b"})"),
            "expected: 'expected' is 'b', which is no option's id");
  EXPECT_EQ(fault(R"({"state":"s","question":"q","options":["a"],"type":"maybe"})"),
            "type: 'type' is one of choice, yes_no, scale");
  EXPECT_EQ(fault(R"({"id":[],"state":"s","question":"q","options":["a"]})"), "id: 'id' is a string or an integer");
}

TEST(Rows, JevbenchNoulHasTheOrderOfItsLabels) {
  const Result<Row> row = read(R"({"id":"n","family":"policy","state":"s","labels":["no","yes"],"expected":"yes",
      "question":{"type":"noul","instructions":"May it?","criteria":{"false":"No way","true":"Sure"}}})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->question.type, QuestionType::kYesNo);
  EXPECT_EQ(row->question.text, "May it?");
  EXPECT_EQ(row->question.options[0].id, "no");
  EXPECT_EQ(row->question.options[0].description, "No way");
  EXPECT_EQ(row->question.options[1].description, "Sure");
  EXPECT_EQ(row->expected, 1u);
  const Result<Row> bare = read(R"({"state":"s","question":{"type":"noul","instructions":"q","criteria":null}})");
  EXPECT_EQ(bare->question.options[0].description, std::nullopt);
}

TEST(Rows, JevbenchChoiceTakesTheAskedOrder) {
  const std::string text = R"({"state":"s","labels":["c","a","b"],"expected":"a",
      "question":{"type":"choice","instructions":"q","criteria":{"a":"A","b":null,"c":"C"}}})";
  const auto ids = [&](OptionOrder order) {
    const Result<Row> row = read(text, {.order = order});
    std::string out;
    for (const Option& option : row->question.options) out += option.id;
    return out;
  };
  EXPECT_EQ(ids(OptionOrder::kCriteria), "abc");
  EXPECT_EQ(ids(OptionOrder::kLabels), "cab");
  EXPECT_EQ(ids(OptionOrder::kReversed), "cba");
  EXPECT_EQ(read(text, {.order = OptionOrder::kLabels})->expected, 1u);
  EXPECT_EQ(read(text)->question.options[1].description, std::nullopt);
}

TEST(Rows, JevbenchScoreHasLevelsAndAnIntegerAnswer) {
  const Result<Row> row = read(R"({"state":{"k":1},"labels":["0","1"],"expected":1,
      "question":{"type":"score","instructions":"q","criteria":["low","high"]}})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->question.type, QuestionType::kScale);
  EXPECT_EQ(row->question.options[1].id, "1");
  EXPECT_EQ(row->question.options[1].description, "high");
  EXPECT_EQ(row->expected, 1u);
}

TEST(Rows, JevbenchFaultsNameTheField) {
  EXPECT_EQ(fault(R"({"state":"s","question":{"instructions":"q"}})"), "question.type: 'type' is missing");
  EXPECT_EQ(fault(R"({"state":"s","question":{"type":"noul"}})"), "question.instructions: 'instructions' is missing");
  EXPECT_EQ(fault(R"({"state":"s","question":{"type":"x","instructions":"q"}})"),
            "question.type: 'question.type' is one of noul, choice, score");
  EXPECT_EQ(fault(R"({"state":"s","question":{"type":"score","instructions":"q","criteria":{}}})"),
            "question.criteria: criteria of a score question are an array");
  EXPECT_EQ(fault(R"({"state":"s","question":{"type":"choice","instructions":"q","criteria":{"a":1}}})"),
            "question.criteria.a: a criterion is a string or null");
}

}  // namespace
}  // namespace assay::cli
