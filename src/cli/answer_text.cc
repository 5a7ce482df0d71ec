#include "cli/answer_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "cli/json_fields.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr std::size_t kBarCells = 30;
constexpr std::size_t kIdWidthMax = 32;
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kReset = "\x1b[0m";

std::string coloured(const std::string& text, const char* colour, bool colours) {
  return colours ? colour + text + kReset : text;
}

// The text with control characters spelled; `newlines` keeps "\n" and "\t".
std::string visible(std::string_view bytes, bool newlines) {
  std::string out;
  for (const char c : readable_text(bytes, bytes.size())) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7F) || (newlines && (c == '\n' || c == '\t'))) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      std::array<char, 8> spelled{};
      std::snprintf(spelled.data(), spelled.size(), "\\x%02x", byte);
      out += spelled.data();
    }
  }
  return out;
}

std::string type_words(QuestionType type) {
  if (type == QuestionType::kYesNo) return "yes/no";
  return type == QuestionType::kScale ? "scale" : "choice";
}

std::string readout_line(const Answer& answer) {
  std::string out = "readout " + std::string(readout_name(answer.readout)) + ", " +
                    (answer.calibrated ? "calibrated" : "not calibrated") + ", " +
                    std::to_string(answer.prompt_tokens) + " prompt tokens";
  if (answer.allowed_mass) out += ", allowed mass " + fixed(*answer.allowed_mass, 3);
  return out;
}

}  // namespace

std::string reliability_warning(QuestionType type) {
  return "this model did not beat chance on the built-in " + type_words(type) + " check: do not believe this number";
}

std::string answer_table(const Row& row, const Answer& answer, bool colours) {
  std::string out;
  if (const std::string id = row.id_text(); !id.empty()) out += one_line(id, 60) + ": ";
  out += coloured(one_line(row.question.text, 100), kBold, colours) + "\n";
  std::size_t width = 1;
  for (const OptionAnswer& option : answer.options) {
    width = std::max(width, text_width(one_line(option.id, kIdWidthMax)));
  }
  for (std::size_t i = 0; i < answer.options.size(); ++i) {
    const OptionAnswer& option = answer.options[i];
    const std::string id = one_line(option.id, kIdWidthMax);
    const std::string number = percent(option.probability);
    const std::string line = (i == answer.best ? "> " : "  ") + id + std::string(width - text_width(id) + 2, ' ') +
                             std::string(8 - std::min<std::size_t>(number.size(), 8), ' ') + number + "  " +
                             bar_text(std::clamp(option.probability, 0.0, 1.0), kBarCells);
    out += coloured(line.substr(0, line.find_last_not_of(' ') + 1), kGreen, colours && i == answer.best) + "\n";
  }
  out += readout_line(answer) + "\n";
  if (answer.reliability == Reliability::kUnreliable) {
    out += coloured("warning: " + reliability_warning(row.question.type), kYellow, colours) + "\n";
  }
  return out;
}

std::string explain_text(const Answer& answer) {
  const std::string rule(60, '-');
  std::string out = "prompt (" + answer.prompt_version + ", sha256 " + answer.prompt_sha256 + ")\n" + rule + "\n" +
                    visible(answer.prompt, true) + "\n" + rule + "\n";
  out += std::to_string(answer.prompt_token_ids.size()) + " prompt token ids:";
  for (const std::int32_t id : answer.prompt_token_ids) out += " " + std::to_string(id);
  out += "\n\n";
  std::vector<std::vector<std::string>> rows = {{"option", "token", "piece", "log-prob", "prior", "score"}};
  for (const OptionAnswer& option : answer.options) {
    rows.push_back({one_line(option.id, kIdWidthMax), "", "'" + visible(option.scored_text, false) + "'",
                    fixed(option.log_prob, 6), fixed(option.prior_log_prob, 6), fixed(option.score, 6)});
    for (const TokenScore& token : option.tokens) {
      rows.push_back({"", std::to_string(token.token), "'" + visible(token.piece, false) + "'",
                      fixed(token.log_prob, 6), fixed(token.prior_log_prob, 6)});
    }
  }
  return out +
         text_table({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kRight}, rows);
}

std::string receipt_text(const Receipt& receipt) {
  return text_table({Align::kLeft, Align::kLeft}, {{"receipt"},
                                                   {"  model", receipt.model},
                                                   {"  build", receipt.build},
                                                   {"  settings", receipt.settings},
                                                   {"  tokens", receipt.tokens},
                                                   {"  scores", receipt.scores}});
}

}  // namespace assay::cli
