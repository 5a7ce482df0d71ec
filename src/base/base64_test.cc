#include "base/base64.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Base64, ReadsWithAndWithoutPadding) {
  EXPECT_EQ(base64_bytes("QQ=="), "A");
  EXPECT_EQ(base64_bytes("QQ"), "A");
  EXPECT_EQ(base64_bytes("QUI="), "AB");
  EXPECT_EQ(base64_bytes("QUJD"), "ABC");
  EXPECT_EQ(base64_bytes("/+8="), "\xff\xef");
  EXPECT_EQ(base64_bytes(""), "");
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text :
       {"Q", "QUJDR", "QUJ D", "QU\nJD", "QUJ-", "QUJ_", "Q===", "=", "QQ=", "QQ==QQ==", "Q\xc3\xa4=="})
    EXPECT_FALSE(base64_bytes(text)) << text;
}

TEST(Base64, WritesWhatItReads) {
  for (const char* bytes : {"", "A", "AB", "ABC", "\xff\xfe\xfd\xfc"})
    EXPECT_EQ(base64_bytes(base64_text(bytes)), bytes);
}

}  // namespace
}  // namespace assay
