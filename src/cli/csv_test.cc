#include "cli/csv.h"

#include <sstream>

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

using Fields = std::vector<std::string>;

std::vector<CsvRecord> read_all(const std::string& text) {
  std::istringstream in(text);
  CsvReader reader(in);
  std::vector<CsvRecord> out;
  while (auto record = reader.next()) out.push_back(std::move(*record));
  return out;
}

TEST(Csv, ReadsQuotesNewlinesAndDoubledQuotes) {
  const auto records = read_all("id,state\n1,\"a, \"\"b\"\"\nc\"\n2,plain\n");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].fields, (Fields{"1", "a, \"b\"\nc"}));
  EXPECT_EQ(records[2].fields, (Fields{"2", "plain"}));
  EXPECT_TRUE(records[2].terminated);
}

TEST(Csv, ReadsCrlfAndAByteOrderMarkBeforeAQuote) {
  const auto records = read_all("\xEF\xBB\xBF\"id\",x\r\n1,2\r\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].fields, (Fields{"id", "x"}));
  EXPECT_TRUE(records[0].crlf);
  EXPECT_EQ(records[0].end_offset, 11u);
  EXPECT_EQ(records[1].end_offset, 16u);
}

TEST(Csv, AFirstCharacterThatBeginsLikeTheMarkIsKept) {
  EXPECT_EQ(read_all("\xEF\xBC\x9A,x\n")[0].fields, (Fields{"\xEF\xBC\x9A", "x"}));
}

TEST(Csv, KeepsEmptyFieldsAndSkipsEmptyLines) {
  const auto records = read_all("a,,\n\n\r\n,b\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].fields, (Fields{"a", "", ""}));
  EXPECT_EQ(records[1].fields, (Fields{"", "b"}));
}

TEST(Csv, TellsALastRecordWithoutLineEnd) {
  const auto records = read_all("a,b\nc,d");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_FALSE(records[1].terminated);
  EXPECT_EQ(records[1].fields, (Fields{"c", "d"}));
  EXPECT_EQ(records[0].end_offset, 4u);
}

TEST(Csv, TellsFaults) {
  EXPECT_EQ(read_all("a,\"open\nand on")[0].fault, "a quoted field is not closed");
  const auto records = read_all("\"a\"b,c\nd\n");
  EXPECT_EQ(records[0].fault, "text follows a closing quote");
  EXPECT_EQ(records[1].fields, Fields{"d"});
  EXPECT_EQ(read_all("5\" pipe,x\n")[0].fields, (Fields{"5\" pipe", "x"}));
}

TEST(Csv, WritesWhatItReads) {
  const Fields fields = {"plain", "with, comma", "\"quoted\"", "two\nlines", "", "\r", "ümlaut"};
  for (const bool crlf : {false, true}) {
    const auto records = read_all(csv_line(fields, crlf));
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].fields, fields);
    EXPECT_EQ(records[0].crlf, crlf);
  }
  EXPECT_EQ(csv_line({"a", "b"}, true), "a,b\r\n");
  EXPECT_EQ(csv_line({""}, false), "\"\"\n");
}

}  // namespace
}  // namespace assay::cli
