#include "cli/score_command.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/score_resume.h"
#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr const char* kRows =
    "{\"id\":\"r1\",\"state\":\"pick b\",\"question\":\"Q\",\"options\":[\"a\",\"b\"],\"expected\":\"b\"}\n"
    "\n"
    "{\"id\":2,\"state\":\"pick a\",\"question\":\"Q\",\"options\":[\"a\",\"b\"],\"expected\":\"b\"}\n"
    "{\"state\":\"pick c\",\"question\":\"Q\",\"options\":[\"c\"]}\n";

class ScoreTest : public ::testing::Test {
 protected:
  ScoreTest() {
    flags_.model.model = "fake.gguf";
    flags_.input = dir_.write("in.jsonl", kRows);
    flags_.output = dir_.path("out.jsonl");
    fake_.before_answer = [this] {
      ++asked_;
      if (asked_ == stop_after_) stop_ = true;
    };
  }

  int run(const std::string& input = "") {
    asked_ = 0;
    in_.str(input);
    in_.clear();
    out_.str("");
    err_.str("");
    Streams streams{.in = in_, .out = out_, .err = err_};
    return run_score(flags_, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_));
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::istringstream stream(dir_.read("out.jsonl"));
    for (std::string line; std::getline(stream, line);) out.push_back(line);
    return out;
  }

  TempDir dir_;
  ScoreFlags flags_;
  FakeDecider fake_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  int asked_ = 0;
  int stop_after_ = -1;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ScoreTest, WritesRowsInInputOrder) {
  ASSERT_EQ(run(), 0) << err_.str();
  ASSERT_EQ(lines().size(), 3u);
  EXPECT_EQ(
      lines()[0],
      R"({"id": "r1", "choice": "b", "probabilities": {"a": 0.3, "b": 0.7}, "readout": "letters", )"
      R"("layout": "state_first", "calibrated": false, "reliability": "reliable", "allowed_mass": 0.5, "expected": "b", "correct": true})");
  EXPECT_NE(lines()[1].find("{\"id\": 2, \"choice\": \"a\""), std::string::npos);
  EXPECT_NE(lines()[2].find("{\"id\": \"row-3\", \"choice\": \"c\""), std::string::npos);
  EXPECT_NE(err_.str().find("accuracy 50.0 % (1 of 2), expected calibration error 0.200"), std::string::npos)
      << err_.str();
  EXPECT_NE(err_.str().find("b                    1  1"), std::string::npos) << err_.str();
}

TEST_F(ScoreTest, ABadRowBecomesAnErrorAndTheRunGoesOn) {
  flags_.input = dir_.write("in.jsonl", "{\"id\":\"x\",\"question\":\"Q\"}\nnonsense\n" + std::string(kRows));
  fake_.check = [](const DecisionRequest& request) -> Status {
    if (to_display_text(request.state) != "pick a") return Status();
    return Error{ErrorCode::kTooLong, "questions[0].text is long", "questions[0].text"};
  };
  EXPECT_EQ(run(), 3);
  ASSERT_EQ(lines().size(), 5u);
  EXPECT_EQ(lines()[0],
            R"({"id": "x", "error": {"code": "invalid_argument", "message": "'state' is missing", "field": "state"}})");
  EXPECT_NE(lines()[1].find(R"({"id": "row-2", "error": {"code": "invalid_argument")"), std::string::npos);
  EXPECT_EQ(lines()[3],
            R"({"id": 2, "error": {"code": "too_long", "message": "question is long", "field": "question"}})");
  EXPECT_NE(err_.str().find("3 rows have an error"), std::string::npos);
}

TEST_F(ScoreTest, StopsAfterARowAndGoesOnThere) {
  ASSERT_EQ(run(), 0);
  const std::string whole = dir_.read("out.jsonl");
  dir_.write("out.jsonl", "");
  stop_after_ = 1;
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(lines().size(), 1u);
  stop_ = false;
  stop_after_ = -1;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(dir_.read("out.jsonl"), whole);
  EXPECT_NE(err_.str().find("accuracy 50.0 % (1 of 2)"), std::string::npos) << err_.str();
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ScoreTest, EveryCutOfTheOutputIsRepaired) {
  ASSERT_EQ(run(), 0);
  const std::string whole = dir_.read("out.jsonl");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    dir_.write("out.jsonl", whole.substr(0, size));
    ASSERT_EQ(run(), 0) << size << ": " << err_.str();
    ASSERT_EQ(dir_.read("out.jsonl"), whole) << size;
  }
}

TEST_F(ScoreTest, AnOutputOfAnotherInputIsRefusedAndKept) {
  ASSERT_EQ(run(), 0);
  const std::string whole = dir_.read("out.jsonl");
  const auto refused = [&](const std::string& input, const std::string& why) {
    flags_.input = dir_.write("in.jsonl", input);
    EXPECT_EQ(run(), 2);
    EXPECT_NE(err_.str().find(why), std::string::npos) << err_.str();
    EXPECT_EQ(dir_.read("out.jsonl"), whole);
  };
  refused("{\"id\":\"other\",\"state\":\"s\",\"question\":\"Q\",\"options\":[\"a\",\"b\"]}\n",
          "row 1 of the output has the id \"r1\", the input has \"other\"");
  refused("{\"id\":\"r1\",\"state\":\"s\",\"question\":\"Q\",\"options\":[\"a\",\"z\"]}\n", "has other options");
  refused("{\"id\":\"r1\",\"state\":\"s\",\"question\":\"Q\",\"options\":[\"a\",\"b\",\"c\"]}\n", "has other options");
  refused("{\"id\":\"r1\",\"state\":\"s\",\"question\":\"Q\",\"options\":[\"a\",\"b\"]}\n", "more rows than the input");
  flags_.overwrite = true;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(ScoreTest, ErrorsOfAnEarlierRunStillCount) {
  flags_.input = dir_.write("in.jsonl", "{}\n" + std::string(kRows));
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ScoreTest, ReadsAndWritesStandardStreams) {
  flags_.input = flags_.output = "-";
  EXPECT_EQ(run(kRows), 0);
  EXPECT_NE(out_.str().find("\"choice\": \"b\""), std::string::npos);
}

TEST_F(ScoreTest, AModelThatIsGoneEndsTheRun) {
  fake_.alive = false;
  fake_.check = [](const DecisionRequest&) -> Status { return Error{ErrorCode::kInternal, "gone", ""}; };
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(lines().size(), 0u);
}

TEST_F(ScoreTest, FaultsOfTheCallerEndWithTwo) {
  flags_.output = flags_.input;
  EXPECT_EQ(run(), 2);
  flags_.output = dir_.path("out.csv");
  EXPECT_EQ(run(), 2);
  flags_.output = "-";
  flags_.input = dir_.path("none.jsonl");
  EXPECT_EQ(run(), 2);
  flags_.input = "";
  EXPECT_EQ(run(), 2);
}

TEST_F(ScoreTest, WritesAReceiptForEachAnsweredRow) {
  flags_.receipts = dir_.path("receipts.jsonl");
  flags_.layout = "question_first";
  flags_.input = dir_.write("in.jsonl", "{}\n" + std::string(kRows));
  ASSERT_EQ(run(), 3);
  std::istringstream receipts(dir_.read("receipts.jsonl"));
  std::vector<Value> values;
  for (std::string line; std::getline(receipts, line);) values.push_back(*server::parse_json(line));
  ASSERT_EQ(values.size(), 3u);
  const Value& request = *values[0].find("request");
  EXPECT_EQ(*request.find("x_layout")->string(), "question_first");
  EXPECT_EQ(*request.find("x_readout")->string(), "letters");
  EXPECT_EQ(*request.find("decision")->find("id")->string(), "r1");
  EXPECT_EQ(values[0].find("receipt")->object()->size(), 5u);
  EXPECT_NE(lines()[1].find("\"layout\": \"question_first\""), std::string::npos);
}

TEST_F(ScoreTest, ReceiptsGoOnWhereTheRowsDo) {
  flags_.receipts = dir_.path("receipts.jsonl");
  ASSERT_EQ(run(), 0);
  const std::string whole = dir_.read("receipts.jsonl");
  dir_.write("out.jsonl", lines()[0] + "\n");
  const std::size_t first_end = whole.find('\n') + 1;
  dir_.write("receipts.jsonl", whole.substr(0, first_end + 20));  // half of the second
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(dir_.read("receipts.jsonl"), whole);
  flags_.overwrite = true;
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(dir_.read("receipts.jsonl"), whole);
}

TEST_F(ScoreTest, ReceiptsThatCannotBeWrittenEndTheRun) {
  flags_.receipts = flags_.output;
  EXPECT_EQ(run(), 2);
  flags_.receipts = dir_.path("no/such/folder.jsonl");
  EXPECT_EQ(run(), 1);
  flags_.receipts = dir_.path("receipts.jsonl");
  fake_.receipt = [](const DecisionRequest&) { return std::optional<Receipt>(); };
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(lines().size(), 0u);
  EXPECT_NE(err_.str().find("without a receipt"), std::string::npos);
}

TEST(CutHalfLine, KeepsWholeLinesOnly) {
  const TempDir dir;
  const std::string long_line(200'000, 'x');
  for (const std::string& kept : {std::string(), std::string("a\n"), long_line + "\n"}) {
    for (const std::string& half : {std::string(), std::string("b"), long_line}) {
      const std::string path = dir.write("file", kept + half);
      ASSERT_TRUE(cut_half_line(path).ok());
      EXPECT_EQ(dir.read("file"), kept);
    }
  }
  EXPECT_TRUE(cut_half_line(dir.path("none")).ok());
}

class ScoreCsvTest : public ScoreTest {
 protected:
  ScoreCsvTest() {
    flags_.input = dir_.write("in.csv", "id,mail,expected\r\n1,\"line a,\nand \"\"b\"\"\",yes\r\n2,no way,no\r\n");
    flags_.output = dir_.path("out.csv");
    flags_.columns.state = "mail";
    flags_.question.question = "Spam?";
    flags_.question.yes_no = true;
  }
};

TEST_F(ScoreCsvTest, AddsColumns) {
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(dir_.read("out.csv"),
            "id,mail,expected,choice,probability,p_yes,p_no,error\r\n"
            "1,\"line a,\nand \"\"b\"\"\",yes,yes,0.7,0.7,0.3,\r\n"
            "2,no way,no,no,0.7,0.3,0.7,\r\n");
  EXPECT_NE(err_.str().find("accuracy 100.0 % (2 of 2)"), std::string::npos) << err_.str();
}

TEST_F(ScoreCsvTest, EveryCutOfTheOutputIsRepaired) {
  ASSERT_EQ(run(), 0);
  const std::string whole = dir_.read("out.csv");
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    dir_.write("out.csv", whole.substr(0, size));
    ASSERT_EQ(run(), 0) << size << ": " << err_.str();
    ASSERT_EQ(dir_.read("out.csv"), whole) << size;
  }
}

TEST_F(ScoreCsvTest, OtherOptionsAreAnotherRun) {
  ASSERT_EQ(run(), 0);
  flags_.question.yes_no = false;
  flags_.question.options = {"yes", "no", "maybe"};
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("its header line is not the one"), std::string::npos) << err_.str();
}

TEST_F(ScoreCsvTest, BadRecordsFillTheErrorColumn) {
  flags_.input = dir_.write("in.csv", "mail\nfine\na,b\n\"x\"y\n");
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(dir_.read("out.csv"),
            "mail,choice,probability,p_yes,p_no,error\n"
            "fine,yes,0.7,0.7,0.3,\n"
            "a,,,,,\"invalid_argument: the record has 2 fields, the header has 1\"\n"
            "xy,,,,,invalid_argument: text follows a closing quote\n");
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(asked_, 0);
}

TEST_F(ScoreCsvTest, QuestionsMayComeFromAColumn) {
  flags_.input = dir_.write("in.csv", "mail,ask\nfine,Is it?\n");
  flags_.columns.question = "ask";
  flags_.question.question = "";
  std::string asked;
  fake_.check = [&asked](const DecisionRequest& request) {
    asked = request.questions[0].text;
    return Status();
  };
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(asked, "Is it?");
}

TEST_F(ScoreCsvTest, MayBeWrittenAsJsonLines) {
  flags_.output = dir_.path("out.jsonl");
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(lines().size(), 2u);
  EXPECT_NE(lines()[0].find("{\"id\": \"1\", \"choice\": \"yes\""), std::string::npos);
}

TEST_F(ScoreCsvTest, FaultsNameTheFlag) {
  flags_.columns.state = "mial";
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("no column 'mial', did you mean 'mail'? It has: id, mail, expected (--state-column"),
            std::string::npos)
      << err_.str();
  flags_.columns.state = "mail";
  flags_.question = {};
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("a CSV needs --question"), std::string::npos);
  flags_.question = {.question = "q", .options = {}, .yes_no = true};
  flags_.input = dir_.write("in.csv", "mail,choice\nx,y\n");
  EXPECT_EQ(run(), 2);
  flags_.input = dir_.write("in.csv", "");
  EXPECT_EQ(run(), 2);
}

}  // namespace
}  // namespace assay::cli
