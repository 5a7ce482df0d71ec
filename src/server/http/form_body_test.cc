#include "server/http/form_body.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(FormBody, TextsBecomeAnObjectAndFilesStandBesideIt) {
  FormBody form;
  form.begin("model", "", "");
  form.add("whis");
  form.add("per \"1\"");
  form.begin("file", "a.wav", "audio/wav");
  form.add(std::string_view("RI\0FF", 5));
  form.begin("empty", "", "");
  HttpRequest request;
  std::move(form).finish(request);
  EXPECT_EQ(request.body, R"({"model": "whisper \"1\"", "empty": ""})");
  ASSERT_EQ(request.files.size(), 1u);
  EXPECT_EQ(request.files[0].field, "file");
  EXPECT_EQ(request.files[0].name, "a.wav");
  EXPECT_EQ(request.files[0].content_type, "audio/wav");
  EXPECT_EQ(request.files[0].content, std::string("RI\0FF", 5));
}

TEST(FormBody, ATextThatComesAgainBecomesAnArray) {
  FormBody form;
  for (const char* text : {"word", "segment"}) {
    form.begin("timestamps", "", "");
    form.add(text);
  }
  HttpRequest request;
  std::move(form).finish(request);
  EXPECT_EQ(request.body, R"({"timestamps": ["word", "segment"]})");
}

TEST(FormBody, BytesThatAreNoTextAreReplaced) {
  FormBody form;
  form.begin("a\xFF", "", "");
  form.add("\xC3");
  HttpRequest request;
  std::move(form).finish(request);
  EXPECT_EQ(request.body, "{\"a\xEF\xBF\xBD\": \"\xEF\xBF\xBD\"}");
}

TEST(FormBody, NothingIsAnEmptyObject) {
  HttpRequest request;
  FormBody().finish(request);
  EXPECT_EQ(request.body, "{}");
  EXPECT_TRUE(request.files.empty());
}

}  // namespace
}  // namespace assay::server
