#pragma once
// Bodies of many requests, a line of JSON for each, as batch transform sends them with SplitType=Line.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace assay::server {

// application/jsonlines, application/x-jsonlines, application/jsonl or application/x-ndjson, with or without
// parameters, in any case.
bool is_json_lines_media_type(std::string_view content_type);

// The lines of a body without their ends ("\n" or "\r\n"). The last line may have no end. Empty lines count, so that
// the lines of the reply stand beside those of the request; a body without a byte has none.
std::vector<std::string_view> json_lines_of(std::string_view body);

struct JsonLinesReply {
  std::string body;              // a line for each line of the request, in their order, each with "\n"
  std::size_t failed = 0;        // lines that were not answered with 200
  std::size_t first_failed = 0;  // the number of the first of them, from 1
  int first_failed_status = 200;
};

// Answers each line by itself with `answer`, at most `at_once` of them at the same time, each on a thread of this
// call's; returns when all are answered. `answer` lets no exception out. A reply that is a stream is an error of its
// line. What a reply's body has of line breaks becomes blanks.
JsonLinesReply answer_json_lines(const std::vector<std::string_view>& lines, std::size_t at_once,
                                 const std::function<HttpReply(std::string_view line)>& answer);

}  // namespace assay::server
