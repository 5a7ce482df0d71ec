#include "service/llama_head_decider.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "base/base64.h"
#include "decision/readout.h"
#include "service/no_lessons.h"
#include "service/option_orders.h"

namespace assay::service {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return c < 128 ? std::tolower(c) : c; });
  return text;
}

bool says(const Option& option, const char* word, const char* other) {
  const std::string id = lower(option.id);
  return id == word || id == other;
}

// Index of the "yes" option of a yes/no question in its usual words, or -1.
int yes_index(const Question& question) {
  if (question.type != QuestionType::kYesNo || question.options.size() != 2) return -1;
  for (int yes = 0; yes < 2; yes++) {
    if (says(question.options[yes], "yes", "true") && says(question.options[1 - yes], "no", "false")) return yes;
  }
  return -1;
}

engine::HeadQuestion head_question(const Question& question) {
  engine::HeadQuestion head{.instructions = question.text};
  if (const int yes = yes_index(question); yes >= 0) {
    head.type = engine::HeadQuestionType::kNoul;
    head.option_keys = {"false", "true"};
    head.descriptions = {question.options[1 - yes].description.value_or(""),
                         question.options[yes].description.value_or("")};
    return head;
  }
  const std::size_t levels = question.options.size();
  head.type = question.type == QuestionType::kScale && levels >= 2 && levels <= 10 ? engine::HeadQuestionType::kScore
                                                                                   : engine::HeadQuestionType::kChoice;
  for (const Option& option : question.options) {
    head.option_keys.push_back(option.id);
    const bool needs_text = head.type == engine::HeadQuestionType::kScore;
    head.descriptions.push_back(option.description.value_or(needs_text ? option.id : ""));
  }
  return head;
}

std::string data_url(const std::string& file) {
  const Result<ImageFacts> facts = inspect_image(file);
  const bool is_png = facts.ok() && facts->format == ImageFormat::kPng;
  return std::string("data:image/") + (is_png ? "png" : "jpeg") + ";base64," + base64_text(file);
}

Result<Answer> answer_of(const Question& question, const engine::HeadAnswer& head) {
  Answer answer{.question_id = question.id, .readout = Readout::kHead, .prompt_version = "llama.cpp"};
  std::vector<double> probabilities = head.probabilities;
  if (yes_index(question) == 0) std::swap(probabilities[0], probabilities[1]);
  double sum = 0;
  for (const double probability : probabilities) sum += probability;
  if (!(sum > 0))
    return Error{ErrorCode::kNonfiniteLogits, "The model's decision head gave every option the probability 0.", ""};
  for (std::size_t i = 0; i < probabilities.size(); i++) {
    probabilities[i] /= sum;
    // The head gives probabilities only; their logarithm is the score that softmax turns back into them.
    constexpr double kLeast = 1e-300;
    answer.options.push_back({.id = question.options[i].id,
                              .probability = probabilities[i],
                              .score = std::log(std::max(probabilities[i], kLeast))});
  }
  answer.best = decision::best_option(probabilities);
  answer.calibrated = false;
  return answer;
}

}  // namespace

Result<DecisionReply> LlamaHeadDecider::decide(const DecisionRequest& request) {
  const RequestGate::Pass pass(gate_);
  if (!pass) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  if (Status status = validate_request(request, limits_); !status.ok()) return status.error();
  if (Status status = refuse_lessons(request); !status.ok()) return status.error();
  if (request.readout != Readout::kAuto && request.readout != Readout::kHead) {
    return invalid_argument("readout", "This model answers through its own decision head; the only readout is head.");
  }
  if (!request.images.empty() && !report_.reads_images)
    return invalid_argument("images", "images: decisions of this model read no images");
  // llama.cpp's prompt has places for images and none for their names.
  if (request.images.size() > 1 && !request.images.front().name.empty())
    return invalid_argument("images",
                            "images: the decision head of this model is not told which of several images has "
                            "which name; send one, or images without names");
  if (request.explain)
    return invalid_argument("explain", "Models with a decision head of their own give no explanation.");
  if (request.layout == Layout::kQuestionFirst)
    return invalid_argument("layout", "Models with a decision head of their own have one layout: leave it out.");
  const auto has_cues = [](const Question& question) { return !question.cues.empty(); };
  if (request.hidden_state || std::any_of(request.questions.begin(), request.questions.end(), has_cues))
    return invalid_argument("hidden_state", "Models with a decision head of their own give no hidden state.");
  OptionOrders orders(request, [](const Question&) { return true; });
  if (orders.trivial()) return compute(request);
  if (const Status few = orders.check_count(limits_.questions_max); !few.ok()) return few.error();
  const Result<DecisionReply> asked = compute(orders.expanded());
  if (!asked.ok()) return orders.in_original(asked.error());
  return orders.merged(asked.value());
}

Result<DecisionReply> LlamaHeadDecider::compute(const DecisionRequest& request) {
  std::vector<engine::HeadQuestion> questions;
  for (const Question& question : request.questions) questions.push_back(head_question(question));
  std::vector<std::string> image_urls;
  for (const Image& image : request.images) image_urls.push_back(data_url(*image.file));
  const auto start = std::chrono::steady_clock::now();
  const Result<engine::HeadReply> head = head_->answer(to_json_text(request.state), questions, image_urls);
  if (!head.ok()) return head.error();
  DecisionReply reply;
  reply.compute_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  reply.input_tokens = head->input_tokens;
  reply.computed_rows = head->input_tokens;
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    Result<Answer> answer = answer_of(request.questions[i], head->answers[i]);
    if (!answer.ok()) return answer.error();
    if (request.questions.size() == 1) answer->prompt_tokens = head->input_tokens;
    decision::finish_answer(request.questions[i], *answer);
    if (request.on_answer) request.on_answer(i, *answer);
    reply.answers.push_back(std::move(answer).value());
  }
  return reply;
}

}  // namespace assay::service
