#include "server/web_pages.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

std::string body_of(const char* path) {
  const std::optional<WebPage> page = web_page(path);
  return page.has_value() ? std::string(page->body) : "";
}

TEST(WebPages, ServesEachFileUnderItsPathWithItsType) {
  const std::pair<const char*, const char*> expected[] = {{"/openapi.json", "application/json"},
                                                          {"/docs", "text/html; charset=utf-8"},
                                                          {"/docs.js", "text/javascript; charset=utf-8"},
                                                          {"/docs.css", "text/css; charset=utf-8"}};
  for (const auto& [path, type] : expected) {
    const std::optional<WebPage> page = web_page(path);
    ASSERT_TRUE(page.has_value()) << path;
    EXPECT_EQ(page->content_type, type);
    EXPECT_GT(page->body.size(), 100u) << path;
    EXPECT_EQ(page->body.back(), '\n') << path;
  }
}

TEST(WebPages, KnowsNoOtherPath) {
  for (const char* path : {"", "/", "/docs/", "/docs.html", "/Docs", "/web/docs.js", "/docs.js.map"}) {
    EXPECT_FALSE(web_page(path).has_value()) << path;
  }
  EXPECT_TRUE(web_file("no such file").empty());
}

TEST(WebPages, TheDocumentIsJsonAndHasTheVersionOfThisProgram) {
  const Result<Value> document = parse_json(body_of("/openapi.json"));
  ASSERT_TRUE(document.ok()) << document.error().message;
  EXPECT_EQ(*document->find("openapi")->string(), "3.1.0");
  EXPECT_EQ(*document->find("info")->find("version")->string(), ASSAY_VERSION);
  EXPECT_EQ(body_of("/openapi.json").find("@ASSAY"), std::string::npos);
}

TEST(WebPages, ThePageFetchesNothingFromElsewhereAndRunsNothingInline) {
  const std::string page = body_of("/docs");
  for (const char* forbidden : {"https:", "//cdn", "<style", " style=", " onclick", "javascript:", "@import"}) {
    EXPECT_EQ(page.find(forbidden), std::string::npos) << forbidden;
  }
  // Its one script has a source of its own and no text.
  EXPECT_NE(page.find("<script src=\"docs.js\" defer></script>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));
  for (const char* path : {"/docs.js", "/docs.css"}) {
    EXPECT_EQ(body_of(path).find("http"), std::string::npos) << path;
  }
  EXPECT_EQ(body_of("/docs.js").find("innerHTML"), std::string::npos);
}

TEST(WebPages, AllTogetherAreSmall) {
  EXPECT_LT(body_of("/docs").size() + body_of("/docs.js").size() + body_of("/docs.css").size(), 40u * 1024);
}

}  // namespace
}  // namespace assay::server
