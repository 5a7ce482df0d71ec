#include "cli/receipt_json.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

const std::string kHash(64, 'a');

Receipt receipt_of(const std::string& scores) {
  return Receipt{.model = kHash, .build = kHash, .settings = kHash, .tokens = kHash, .scores = scores};
}

Row row_with(Value state) {
  Row row;
  row.id = Value("r1");
  row.state = std::move(state);
  row.question = {
      .id = "", .text = "What?", .type = QuestionType::kYesNo, .options = {{"yes", "It is"}, {"no", std::nullopt}}};
  return row;
}

Answer answer_by(Readout readout, Layout layout) {
  Answer answer;
  answer.readout = readout;
  answer.layout = layout;
  return answer;
}

TEST(ReceiptJson, ALineAsksItsRowAgain) {
  const Receipt receipt = receipt_of(sha256_hex("x"));
  const Row row = row_with(Value("s \"quoted\""));
  const std::string line = receipt_line(row, answer_by(Readout::kText, Layout::kQuestionFirst), receipt);
  ASSERT_EQ(line.back(), '\n');
  const Result<ReceiptLine> read = receipt_line_from_json(line.substr(0, line.size() - 1));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->receipt == receipt);
  const DecisionRequest& request = read->request;
  EXPECT_EQ(request.state, row.state);
  EXPECT_EQ(request.readout, Readout::kText);
  EXPECT_EQ(request.layout, Layout::kQuestionFirst);
  EXPECT_TRUE(request.receipt);
  ASSERT_EQ(request.questions.size(), 1u);
  EXPECT_EQ(request.questions[0].id, "r1");
  EXPECT_EQ(request.questions[0].text, "What?");
  EXPECT_EQ(request.questions[0].type, QuestionType::kYesNo);
  ASSERT_EQ(request.questions[0].options.size(), 2u);
  EXPECT_EQ(request.questions[0].options[0].description, "It is");
  EXPECT_FALSE(request.questions[0].options[1].description.has_value());
}

TEST(ReceiptJson, TheBodyNamesReadoutAndLayout) {
  const Value body = semif_body(row_with(Value("s")), answer_by(Readout::kLetters, Layout::kQuestionFirst));
  EXPECT_EQ(*body.find("x_readout")->string(), "letters");
  EXPECT_EQ(*body.find("x_layout")->string(), "question_first");
  const Value head = semif_body(row_with(Value("s")), answer_by(Readout::kHead, Layout::kStateFirst));
  EXPECT_EQ(*head.find("x_readout")->string(), "auto");  // the wire takes no head by name
}

TEST(ReceiptJson, RowsWithoutAnIdOrWithANumberGetOneThatTheWireTakes) {
  Row row = row_with(Value("s"));
  const Answer answer = answer_by(Readout::kLetters, Layout::kStateFirst);
  row.id = Value();
  EXPECT_EQ(*semif_body(row, answer).find("decision")->find("id")->string(), "q");
  row.id = Value(Value::Integer{"12"});
  EXPECT_EQ(*semif_body(row, answer).find("decision")->find("id")->string(), "12");
}

TEST(ReceiptJson, EveryStateComesBackAsItWas) {
  for (const Value& state :
       {Value(""), Value(Value::Object{}), Value(Value::Array{}), Value(Value::Array{Value(Value::Integer{"1"})}),
        Value(Value::Object{{"z", Value(0.1)}, {"a", Value()}})}) {
    const std::string line =
        receipt_line(row_with(state), answer_by(Readout::kLetters, Layout::kStateFirst), receipt_of(kHash));
    const Result<ReceiptLine> read = receipt_line_from_json(line);
    ASSERT_TRUE(read.ok()) << to_json_text(state) << read.error().message;
    EXPECT_EQ(read->request.state, state);
  }
}

TEST(ReceiptJson, SeveralDecisionsMayShareAnEmptyState) {
  const auto line = [](const std::string& second) {
    return R"({"request": {"decisions": [{"id": "a", "state": "", "question": "Q", "options": [{"id": "x"}]}, )"
           R"({"id": "b", "state": )" +
           second + R"(, "question": "R", "options": [{"id": "y"}]}]}, "receipt": )" +
           to_json_text(receipt_value(receipt_of(kHash))) + "}";
  };
  const Result<ReceiptLine> read = receipt_line_from_json(line("\"\""));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->request.state, Value(""));
  EXPECT_EQ(read->request.questions.size(), 2u);
  EXPECT_EQ(receipt_line_from_json(line("\"s\"")).error().field, "request.decisions[1].state");
}

TEST(ReceiptJson, BrokenLinesSayWhere) {
  const auto field_of = [](const std::string& line) { return receipt_line_from_json(line).error().field; };
  const std::string request =
      R"("request": {"decision": {"id": "t", "state": "s", "question": "Q", "options": [{"id": "a"}]}})";
  const std::string receipt = "\"receipt\": " + to_json_text(receipt_value(receipt_of(kHash)));
  EXPECT_TRUE(receipt_line_from_json("{" + request + ", " + receipt + ", \"more\": 1}").ok());
  EXPECT_FALSE(receipt_line_from_json("nonsense").ok());
  EXPECT_FALSE(receipt_line_from_json("[]").ok());
  EXPECT_EQ(field_of("{" + receipt + "}"), "request");
  EXPECT_EQ(field_of("{" + request + "}"), "receipt");
  EXPECT_EQ(field_of("{" + request + R"(, "receipt": null})"), "receipt");
  EXPECT_EQ(field_of("{" + request + R"(, "receipt": {}})"), "receipt.model");
  EXPECT_EQ(field_of("{" + request + ", \"receipt\": " + to_json_text(receipt_value(receipt_of("abc"))) + "}"),
            "receipt.scores");
  EXPECT_EQ(field_of(R"({"request": {"decision": {"id": "t", "state": "s", "question": "Q"}}, )" + receipt + "}"),
            "request.decision.options");
  EXPECT_EQ(field_of(R"({"request": {"decision": {"state": ""}}, )" + receipt + "}"), "request.decision.id");
  EXPECT_EQ(field_of(R"({"request": 3, )" + receipt + "}"), "request");
}

}  // namespace
}  // namespace assay::cli
