#include "server/sagemaker/json_lines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "server/http/ascii.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

std::string stream_refused() {
  return error_body(invalid_argument("stream", "stream: a line's reply is one line; ask for it without a stream"));
}

// JSON has line breaks between its tokens only, where blanks do as well.
std::string in_one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

bool is_json_lines_media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  constexpr std::array<std::string_view, 4> kTypes = {"application/jsonlines", "application/x-jsonlines",
                                                      "application/jsonl", "application/x-ndjson"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [type](std::string_view known) { return equal_ignoring_case(type, known); });
}

std::vector<std::string_view> json_lines_of(std::string_view body) {
  std::vector<std::string_view> lines;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    std::string_view line = body.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return lines;
}

JsonLinesReply answer_json_lines(const std::vector<std::string_view>& lines, std::size_t at_once,
                                 const std::function<HttpReply(std::string_view line)>& answer) {
  struct Answered {
    int status = 200;
    std::string body;
  };
  std::vector<Answered> answered(lines.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < lines.size(); i = next.fetch_add(1)) {
      HttpReply reply = answer(lines[i]);
      answered[i] =
          reply.stream ? Answered{400, stream_refused()} : Answered{reply.status, in_one_line(std::move(reply.body))};
    }
  };
  std::vector<std::thread> threads;
  try {
    for (std::size_t i = 1; i < std::min(at_once, lines.size()); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    threads.shrink_to_fit();  // the system gives no more threads: those that are there do it
  }
  work();
  for (std::thread& thread : threads) thread.join();

  JsonLinesReply out;
  for (std::size_t i = 0; i < answered.size(); ++i) {
    out.body += answered[i].body;
    out.body += '\n';
    if (answered[i].status == 200) continue;
    if (out.failed++ == 0) {
      out.first_failed = i + 1;
      out.first_failed_status = answered[i].status;
    }
  }
  return out;
}

}  // namespace assay::server
