#include "service/question_plan.h"

#include <algorithm>
#include <unordered_set>

#include "base/assert.h"
#include "base/sha256.h"
#include "decision/cue.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "decision/readout.h"

namespace assay::service {
namespace {

engine::PromptText prompt_text(const decision::Prompt& prompt) {
  return {.system = prompt.system,
          .user = prompt.user,
          .base_cue = prompt.base_cue,
          .fixed_bytes = prompt.fixed_bytes,
          .shared_bytes = prompt.shared_bytes,
          .image_slots = prompt.image_slots};
}

std::string encoder_text(const engine::Encoder& encoder, const engine::Tokens& tokens) {
  std::string text;
  for (const engine::TokenId token : tokens) text += encoder.piece(token);
  return text;
}

double log_prob(const engine::JobResult& result, const TokenRead& at) {
  const engine::ReadResult& read = result.reads[at.read];
  if (!read.vocabulary) return 0;  // not known, and nobody asked
  // Rounding in the sum over the vocabulary may lift a near-certain token above 0.
  return std::min(0.0, static_cast<double>(read.logits[at.target]) - read.log_sum_exp);
}

Status plan_letters(const Value& state, const Question& question, const Labels& labels, const engine::Encoder& encoder,
                    std::span<const Image> images, QuestionPlan& plan) {
  const std::size_t options = question.options.size();
  const decision::Prompt prompt = decision::with_images(
      decision::letters_prompt(state, question, std::span(labels.codes).first(options), plan.layout), images);
  Result<engine::EncodedPrompt> encoded = encoder.encode_prompt(prompt_text(prompt));
  if (!encoded.ok()) return encoded.error();
  plan.prompt = std::move(encoded).value();
  plan.prompt_version = prompt.version;
  for (std::size_t i = 0; i < options; i++) {
    plan.scored_texts.push_back(labels.codes[i]);
    plan.answers.push_back({{.lead = {}, .tokens = {labels.tokens[i]}}});
  }
  return {};
}

// An option's words after a lead. In one piece with the lead where the tokens allow it, so that they are what a model
// would write.
Result<AnswerPath> answer_path(const std::string& lead, const std::string& text, const engine::Encoder& encoder) {
  const std::string spaced = lead.empty() ? text : " " + text;
  const Result<engine::Tokens> lead_tokens = encoder.encode_answer(lead);
  if (!lead_tokens.ok()) return lead_tokens.error();
  const Result<engine::Tokens> joined = encoder.encode_answer(lead + spaced);
  if (!joined.ok()) return joined.error();
  if (joined->size() > lead_tokens->size() && std::equal(lead_tokens->begin(), lead_tokens->end(), joined->begin())) {
    return AnswerPath{.lead = *lead_tokens,
                      .tokens = engine::Tokens(joined->begin() + std::ssize(*lead_tokens), joined->end())};
  }
  Result<engine::Tokens> alone = encoder.encode_answer(spaced);
  if (!alone.ok()) return alone.error();
  return AnswerPath{.lead = *lead_tokens, .tokens = std::move(alone).value()};
}

Status plan_answers(const Question& question, const engine::Encoder& encoder, QuestionPlan& plan) {
  // A base model's prompt ends in its cue, so it has one lead: none.
  const std::span<const std::string> leads =
      decision::answer_leads().first(encoder.has_chat_template() ? decision::answer_leads().size() : 1);
  std::vector<std::vector<engine::Tokens>> by_lead(leads.size());
  for (const Option& option : question.options) {
    plan.scored_texts.push_back(decision::option_text(question, option));
    std::vector<AnswerPath>& paths = plan.answers.emplace_back();
    for (std::size_t l = 0; l < leads.size(); l++) {
      Result<AnswerPath> path = answer_path(leads[l], plan.scored_texts.back(), encoder);
      if (!path.ok()) return invalid_argument("options", path.error().message);
      if (path->tokens.empty())
        return invalid_argument("options",
                                "The words of option \"" + option.id + "\" are no tokens in this model's vocabulary.");
      by_lead[l].push_back(path->tokens);
      paths.push_back(std::move(path).value());
    }
  }
  // One that begins another behind any lead gets its end behind all of them, so that every lead scores the same thing.
  for (const std::vector<engine::Tokens>& tokens : by_lead) {
    const std::vector<bool> needs_end = decision::needs_end(tokens);
    for (std::size_t i = 0; i < needs_end.size(); i++) {
      const bool has_end = plan.answers[i].front().tokens.size() > by_lead.front()[i].size();
      if (!needs_end[i] || has_end) continue;
      for (AnswerPath& path : plan.answers[i]) path.tokens.push_back(encoder.end_of_answer());
    }
  }
  return {};
}

Status plan_text(const Value& state, const Question& question, const engine::Encoder& encoder,
                 std::span<const Image> images, QuestionPlan& plan) {
  const decision::Prompt prompt = decision::with_images(decision::text_prompt(state, question, plan.layout), images);
  Result<engine::EncodedPrompt> encoded = encoder.encode_prompt(prompt_text(prompt));
  if (!encoded.ok()) return encoded.error();
  plan.prompt = std::move(encoded).value();
  plan.prompt_version = prompt.version;
  for (const Value& nothing : decision::neutral_states()) {
    Result<engine::EncodedPrompt> neutral =
        encoder.encode_prompt(prompt_text(decision::text_prompt(nothing, question, plan.layout)));
    if (!neutral.ok()) return neutral.error();
    plan.neutral_prompts.push_back(std::move(neutral).value());
  }
  return plan_answers(question, encoder, plan);
}

Status plan_cues(const Value& state, const Question& question, const engine::Encoder& encoder, QuestionPlan& plan) {
  for (const std::string& cue : question.cues) {
    const decision::CueText text = decision::cue_text(cue, state, question);
    Result<engine::EncodedPrompt> encoded = encoder.encode_prompt(
        {.system = {}, .user = text.text, .base_cue = {}, .plain = true, .shared_bytes = text.shared_bytes});
    if (!encoded.ok()) return encoded.error();
    plan.cues.push_back(std::move(encoded).value());
  }
  return {};
}

// Rows and reads of every answer behind a prompt's row: by option, the tokens of its answers one after another.
std::vector<std::vector<TokenRead>> add_answers(const QuestionPlan& plan, const RowRef& prompt_row,
                                                JobBuilder& builder) {
  std::vector<std::vector<TokenRead>> reads;
  for (const std::vector<AnswerPath>& paths : plan.answers) {
    std::vector<TokenRead>& tokens = reads.emplace_back();
    for (const AnswerPath& path : paths) {
      const std::vector<TokenRead> added =
          builder.add_answer(builder.add_lead(prompt_row, path.lead), path.tokens, plan.vocabulary);
      tokens.insert(tokens.end(), added.begin(), added.end());
    }
  }
  return reads;
}

// An answer whose cues alone were computed.
Answer unscored(const Question& question, const QuestionPlan& plan, Answer answer) {
  const auto count = static_cast<double>(question.options.size());
  for (const Option& option : question.options) answer.options.push_back({.id = option.id, .probability = 1 / count});
  std::string texts;
  for (const engine::EncodedPrompt& cue : plan.cues) {
    texts += cue.text;
    answer.prompt_tokens += static_cast<std::int32_t>(cue.tokens.size());
  }
  answer.prompt_sha256 = sha256_hex(texts);
  return answer;
}

}  // namespace

Labels find_labels(const engine::Encoder& encoder) {
  Labels labels;
  std::unordered_set<engine::TokenId> seen;
  for (const std::string& code : decision::label_codes()) {
    const Result<engine::Tokens> tokens = encoder.encode_answer(code);
    if (!tokens.ok() || tokens->size() != 1) continue;
    const std::string piece = encoder.piece(tokens->front());
    const bool spells_itself =
        piece == code || (piece.size() == code.size() + 1 && piece.ends_with(code) && piece.front() == ' ');
    if (!spells_itself || !seen.insert(tokens->front()).second) continue;
    labels.codes.push_back(code);
    labels.tokens.push_back(tokens->front());
  }
  return labels;
}

Result<QuestionPlan> plan_question(const Value& state, const Question& question, Readout readout, Layout layout,
                                   const Labels& labels, const engine::Encoder& encoder,
                                   std::span<const Image> images) {
  ASSAY_ASSERT(readout == Readout::kLetters || readout == Readout::kText);
  ASSAY_ASSERT(layout != Layout::kAuto);
  QuestionPlan plan;
  plan.layout = layout;
  plan.scored = question.scored;
  if (const Status status = plan_cues(state, question, encoder, plan); !status.ok()) return status.error();
  plan.readout = question.options.size() > labels.codes.size() ? Readout::kText : readout;
  if (!question.scored) {
    plan.readout = readout;
    return plan;
  }
  const Status status = plan.readout == Readout::kLetters ? plan_letters(state, question, labels, encoder, images, plan)
                                                          : plan_text(state, question, encoder, images, plan);
  if (!status.ok()) return status.error();
  return plan;
}

void add_prompts(QuestionPlan& plan, JobBuilder& builder) {
  if (plan.scored) plan.prompt_row = builder.add_prompt(plan.prompt);
  for (const engine::EncodedPrompt& cue : plan.cues)
    plan.cue_reads.push_back(builder.add_hidden_state(builder.add_prompt(cue)));
}

void add_reads(QuestionPlan& plan, bool hidden_state, JobBuilder& builder) {
  if (!plan.scored) return;
  plan.reads = add_answers(plan, plan.prompt_row, builder);
  if (hidden_state) builder.add_hidden_state(plan.prompt_row);
}

PriorKey prior_key(const QuestionPlan& plan) {
  PriorKey key;
  const auto add = [&key](const engine::Tokens& tokens) {
    key.insert(key.end(), tokens.begin(), tokens.end());
    key.push_back(-1);
  };
  for (const engine::EncodedPrompt& prompt : plan.neutral_prompts) {
    add(prompt.tokens);
    add({prompt.head_tokens, prompt.shared_tokens});
  }
  for (const std::vector<AnswerPath>& paths : plan.answers) {
    for (const AnswerPath& path : paths) {
      add(path.lead);
      add(path.tokens);
    }
  }
  return key;
}

std::vector<PriorJob> prior_jobs(const QuestionPlan& plan) {
  std::vector<PriorJob> jobs;
  for (const engine::EncodedPrompt& prompt : plan.neutral_prompts) {
    JobBuilder builder(kSharedTokensMin);
    std::vector<std::vector<TokenRead>> reads = add_answers(plan, builder.add_prompt(prompt), builder);
    jobs.push_back({.job = builder.take(), .reads = std::move(reads)});
  }
  return jobs;
}

Priors priors_of(const std::vector<PriorJob>& jobs, const std::vector<engine::JobResult>& results) {
  Priors priors;
  for (std::size_t i = 0; i < jobs.front().reads.size(); i++) {
    std::vector<double>& numbers = priors.emplace_back(jobs.front().reads[i].size(), 0.0);
    for (std::size_t j = 0; j < jobs.size(); j++) {
      for (std::size_t t = 0; t < numbers.size(); t++)
        numbers[t] += log_prob(results[j], jobs[j].reads[i][t]) / static_cast<double>(jobs.size());
    }
  }
  return priors;
}

Result<Answer> answer_question(const Question& question, const QuestionPlan& plan, const engine::JobResult& result,
                               const Priors* priors, bool explain, const engine::Encoder& encoder) {
  const bool letters = plan.readout == Readout::kLetters;
  Answer answer{.question_id = question.id,
                .readout = plan.readout,
                .layout = plan.layout,
                .prompt_version = plan.prompt_version};
  for (const std::size_t read : plan.cue_reads) answer.cue_states.push_back(result.reads[read].hidden);
  if (!plan.scored) return unscored(question, plan, std::move(answer));
  std::vector<double> scores;
  for (std::size_t i = 0; i < question.options.size(); i++) {
    OptionAnswer option{.id = question.options[i].id};
    const auto leads = static_cast<double>(plan.answers[i].size());
    std::size_t at = 0;
    for (const AnswerPath& path : plan.answers[i]) {
      for (const engine::TokenId id : path.tokens) {
        TokenScore token{.token = id, .log_prob = log_prob(result, plan.reads[i][at])};
        if (priors != nullptr) token.prior_log_prob = (*priors)[i][at];
        at++;
        option.log_prob += token.log_prob / leads;
        option.prior_log_prob += token.prior_log_prob / leads;
        if (!explain) continue;
        token.piece = encoder.piece(id);
        token.lead = encoder_text(encoder, path.lead);
        option.tokens.push_back(std::move(token));
      }
    }
    const TokenRead& first = plan.reads[i].front();
    option.score = letters ? static_cast<double>(result.reads[first.read].logits[first.target])
                           : option.log_prob - option.prior_log_prob;
    if (explain) option.scored_text = plan.scored_texts[i];
    scores.push_back(option.score);
    answer.options.push_back(std::move(option));
  }
  const Result<std::vector<double>> probabilities = decision::probabilities(scores, 1.0);
  if (!probabilities.ok()) return probabilities.error();
  for (std::size_t i = 0; i < scores.size(); i++) answer.options[i].probability = (*probabilities)[i];
  answer.best = decision::best_option(*probabilities);
  const engine::ReadResult& end = result.reads[plan.reads.front().front().read];
  if (letters) {
    for (const std::vector<AnswerPath>& paths : plan.answers)
      answer.label_tokens.push_back(paths.front().tokens.front());
  }
  if (letters && plan.allowed_mass) {
    std::vector<float> logits;
    for (const double score : scores) logits.push_back(static_cast<float>(score));
    answer.allowed_mass = decision::allowed_mass(logits, end.log_sum_exp);
    answer.argmax_token = end.argmax;
  }
  answer.hidden_state = end.hidden;
  answer.prompt_sha256 = sha256_hex(plan.prompt.text);
  answer.prompt_tokens = static_cast<std::int32_t>(plan.prompt.tokens.size());
  if (explain) {
    answer.prompt = plan.prompt.text;
    answer.prompt_token_ids = plan.prompt.tokens;
  }
  return answer;
}

}  // namespace assay::service
