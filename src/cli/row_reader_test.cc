#include "cli/row_reader.h"

#include <sstream>

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(RowReader, NumbersRowsAndKeepsFaultyOnes) {
  std::istringstream in(
      "\xEF\xBB\xBF{\"id\":7,\"state\":\"s\",\"question\":\"q\",\"options\":[\"a\"]}\r\n\n{\n{\"id\":[]}\n");
  const std::unique_ptr<RowReader> reader = open_json_lines(in, {});
  const auto first = reader->next();
  ASSERT_TRUE(first && first->row.ok());
  EXPECT_EQ(first->row->id_text(), "7");
  const auto second = reader->next();
  ASSERT_TRUE(second && !second->row.ok());
  EXPECT_EQ(second->number, 2u);
  EXPECT_EQ(*second->id.string(), "row-2");
  EXPECT_EQ(*reader->next()->id.string(), "row-3");
  EXPECT_FALSE(reader->next());
}

TEST(RowReader, FormatsFollowTheName) {
  EXPECT_EQ(row_format_of_path("a.CSV"), RowFormat::kCsv);
  EXPECT_EQ(row_format_of_path("a.csv.jsonl"), RowFormat::kJsonLines);
  EXPECT_EQ(row_format_of_path("a.ndjson"), RowFormat::kJsonLines);
  EXPECT_EQ(row_format_of_path("-"), std::nullopt);
}

TEST(RowReader, CsvRowsTakeIdAndAnswerFromTheirColumns) {
  std::istringstream in("expected,state,id\nno,text,x1\n,text,\nmaybe,text,x3\n");
  Question question;
  question.text = "Q";
  question.options = {{"yes", std::nullopt}, {"no", std::nullopt}};
  Result<std::unique_ptr<RowReader>> reader = open_csv(in, {}, {.defaults = &question});
  ASSERT_TRUE(reader.ok());
  const auto first = (*reader)->next();
  EXPECT_EQ(first->row->id_text(), "x1");
  EXPECT_EQ(first->row->expected, 1u);
  EXPECT_EQ((*reader)->next()->row->expected, std::nullopt);
  EXPECT_EQ((*reader)->next()->row.error().field, "expected");
}

}  // namespace
}  // namespace assay::cli
