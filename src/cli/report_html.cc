#include "cli/report_html.h"

#include <vector>

#include "cli/json_fields.h"
#include "cli/report_svg.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr std::size_t kExcerptBytes = 400;
constexpr std::size_t kWrongRowsMax = 2000;

constexpr const char* kStyle = R"(
:root { color: #1c2430; background: #f6f7f9; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
p.about { color: #55606e; margin: .2rem 0 1.2rem; overflow-wrap: anywhere; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .7rem; }
.numbers div, figure, .table { background: #fff; border: 1px solid #dde1e7; border-radius: .5rem; }
.numbers div { padding: .6rem .9rem; } .numbers b { display: block; font-size: 1.35rem; }
.numbers span, figcaption { color: #55606e; font-size: .85rem; }
.drawings { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; margin-top: 1rem; }
figure { margin: 0; padding: .8rem; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: #55606e; }
svg .grid { stroke: #e8ebef; } svg .axis { stroke: #8b95a3; } svg .bar { fill: #bcd3ee; } svg .dot { fill: #1f5fa8; }
svg .ideal { stroke: #8b95a3; stroke-dasharray: 5 4; } svg .curve { fill: none; stroke: #1f5fa8; stroke-width: 2; }
svg .mark { stroke: #b4552d; stroke-dasharray: 3 3; }
.table { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .4rem .7rem; text-align: right; border-bottom: 1px solid #eceff3; white-space: nowrap; }
th, td { vertical-align: top; }
th { color: #55606e; font-weight: 600; } tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child, .text th, .text td { text-align: left; }
td.long { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 16rem; }
td.refused { color: #a1341c; white-space: normal; min-width: 10rem; }
)";

std::string excerpt(const std::string& text) {
  const std::string begin = readable_text(text, kExcerptBytes);
  return html_text(begin) + (text.size() > kExcerptBytes ? " …" : "");
}

std::string group_table(const std::string& title, const EvalGroups& groups) {
  if (groups.empty()) return "";
  std::string out = "<h2>By " + title + "</h2>\n<div class=\"table\"><table>\n<tr><th>" + title +
                    "</th><th>n</th><th>right</th><th>accuracy</th><th>Brier</th><th>ECE</th><th>p50 ms</th>"
                    "<th>p95 ms</th><th>refused</th><th>level error</th><th>readout</th></tr>\n";
  for (const auto& [name, rows] : groups) {
    const EvalNumbers numbers = eval_numbers(rows);
    out += "<tr><td>" + html_text(name) + "</td>";
    for (const std::string& cell :
         {std::to_string(numbers.n), std::to_string(numbers.correct), percent(numbers.accuracy),
          fixed(numbers.brier, 3), fixed(numbers.ece, 3), fixed(numbers.p50_ms, 1), fixed(numbers.p95_ms, 1),
          std::to_string(numbers.errors), numbers.level_error ? fixed(*numbers.level_error, 2) : std::string(),
          readout_used(rows)}) {
      out += "<td>" + cell + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string wrong_line(const EvalRow& row) {
  std::string out = "<tr><td>" + html_text(row.id) + "</td><td class=\"long\">" + excerpt(row.state) +
                    "</td><td class=\"long\">" + excerpt(row.question) + "</td><td>" +
                    html_text(one_line(row.expected, 60)) + "</td>";
  if (!row.outcome)
    return out + "<td class=\"refused\" colspan=\"3\">refused: " + excerpt(row.error.message) + "</td></tr>\n";
  const Outcome& outcome = *row.outcome;
  return out + "<td>" + html_text(one_line(row.answered, 60)) + "</td><td>" +
         fixed(outcome.probabilities[outcome.predicted], 3) + "</td><td>" +
         fixed(outcome.probabilities[outcome.expected], 3) + "</td></tr>\n";
}

std::string wrong_table(const EvalResult& result) {
  std::string lines;
  std::size_t wrong = 0;
  for (const EvalRow& row : result.rows) {
    if (!row.correct() && ++wrong <= kWrongRowsMax) lines += wrong_line(row);
  }
  std::string out = "<h2>Wrong rows (" + std::to_string(wrong) + ")</h2>\n";
  if (wrong == 0) return out + "<p>None.</p>\n";
  if (wrong > kWrongRowsMax) out += "<p>The first " + std::to_string(kWrongRowsMax) + " are shown.</p>\n";
  return out +
         "<div class=\"table text\"><table>\n<tr><th>id</th><th>state</th><th>question</th><th>right</th>"
         "<th>answered</th><th>p of the answer</th><th>p of the right one</th></tr>\n" +
         lines + "</table></div>\n";
}

std::string about_line(const EvalResult& result, const EvalNumbers& numbers) {
  std::string files;
  for (const std::string& file : result.files) files += (files.empty() ? "" : ", ") + html_text(file);
  return "<p class=\"about\">" + html_text(result.model) + " on " + files + ": " + std::to_string(numbers.n) +
         " rows, readout " + readout_used(all_rows(result)) + " (asked: " + html_text(result.asked_readout) +
         "), option order " + html_text(result.option_order) + "</p>\n";
}

}  // namespace

std::string html_text(std::string_view bytes) {
  std::string out;
  for (const char c : readable_text(bytes, bytes.size())) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += c;
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return out;
}

std::string report_card(const std::string& value, const std::string& name) {
  return "<div><b>" + value + "</b><span>" + name + "</span></div>\n";
}

std::string report_page(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         html_text(title) + "</title>\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>" +
         html_text(title) + "</h1>\n" + body + "</body>\n</html>\n";
}

std::string report_html(const EvalResult& result) {
  const std::vector<const EvalRow*> rows = all_rows(result);
  const EvalNumbers numbers = eval_numbers(rows);
  std::vector<Outcome> outcomes;
  std::vector<double> times_ms;
  for (const EvalRow* row : rows) {
    if (row->outcome) outcomes.push_back(*row->outcome);
    times_ms.push_back(row->ms);
  }
  std::string out = about_line(result, numbers);
  out += "<div class=\"numbers\">\n";
  out += report_card(percent(numbers.accuracy),
                     std::to_string(numbers.correct) + " of " + std::to_string(numbers.n) + " right");
  out += report_card(fixed(numbers.brier, 3), "Brier score");
  out += report_card(fixed(numbers.ece, 3), "expected calibration error");
  out += report_card(fixed(numbers.p50_ms, 1), "p50 ms") + report_card(fixed(numbers.p95_ms, 1), "p95 ms");
  out += report_card(std::to_string(numbers.errors), "refused");
  if (numbers.level_error) out += report_card(fixed(*numbers.level_error, 2), "level error on scales");
  out += "</div>\n<div class=\"drawings\">\n<figure>" + reliability_svg(reliability_bins(outcomes)) +
         "<figcaption>Reliability: the dashed line is perfect calibration; the number is how many answers a bar "
         "holds.</figcaption></figure>\n<figure>" +
         latency_svg(times_ms) +
         "<figcaption>Latency: the share of decisions that took at most so long.</figcaption></figure>\n</div>\n";
  out += group_table("file", groups_by_file(result)) + group_table("type", groups_by_type(result)) +
         group_table("family", groups_by_family(result)) + wrong_table(result);
  return report_page("Assay evaluation", out);
}

}  // namespace assay::cli
