#include "engine/llama_decision_head.h"

#include <common.h>
#include <server-context.h>
#include <server-http.h>

#include <cmath>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/llama_packing.h"
#include "engine/llama_runtime.h"

namespace assay::engine {
namespace {

using Json = nlohmann::ordered_json;

const char* type_name(HeadQuestionType type) {
  switch (type) {
    case HeadQuestionType::kNoul:
      return "noul";
    case HeadQuestionType::kChoice:
      return "choice";
    case HeadQuestionType::kScore:
      return "score";
  }
  return "choice";
}

Json question_json(const HeadQuestion& question) {
  Json json = {{"type", type_name(question.type)}, {"instructions", question.instructions}};
  const bool list = question.type == HeadQuestionType::kScore;
  Json criteria = list ? Json::array() : Json::object();
  for (std::size_t i = 0; i < question.descriptions.size(); i++) {
    const Json description = question.descriptions[i].empty() ? Json(nullptr) : Json(question.descriptions[i]);
    if (list) {
      criteria.push_back(description);
    } else {
      criteria[question.option_keys[i]] = description;
    }
  }
  json["criteria"] = std::move(criteria);
  return json;
}

Result<HeadAnswer> answer_of(const Json& json, const HeadQuestion& question) {
  HeadAnswer answer;
  if (question.type == HeadQuestionType::kNoul) {
    const double yes = json.at("noul");
    answer.probabilities = {1.0 - yes, yes};
  } else {
    const Json& probabilities = json.at("probabilities");
    for (std::size_t i = 0; i < question.descriptions.size(); i++) {
      answer.probabilities.push_back(
          probabilities.at(question.type == HeadQuestionType::kScore ? std::to_string(i) : question.option_keys[i]));
    }
  }
  for (const double probability : answer.probabilities) {
    if (!std::isfinite(probability))
      return Error{ErrorCode::kNonfiniteLogits, "The model's decision head produced a non-finite number.", ""};
  }
  return answer;
}

Error error_of(int status, const std::string& body) {
  std::string message;
  try {
    message = Json::parse(body).at("error").at("message");
  } catch (const std::exception&) {
    message = body;  // it is no JSON, so the body itself is the message
  }
  if (message.find("could not evaluate") != std::string::npos) return {ErrorCode::kNonfiniteLogits, message, ""};
  // llama.cpp answers 500 also to a prompt that is longer than its batch.
  const bool too_long = message.find("too large") != std::string::npos || message.find("exceeds") != std::string::npos;
  if (too_long) return {ErrorCode::kTooLong, message, "state"};
  return {status >= 500 && status != 501 ? ErrorCode::kInternal : ErrorCode::kInvalidArgument, message, ""};
}

common_params server_params(const ModelOptions& options) {
  common_params params;
  params.model.path = options.path;
  params.n_ctx = options.context_tokens > 0 ? options.context_tokens : 8192;
  params.n_parallel = 4;
  params.kv_unified = true;
  params.fit_params = false;
  params.warmup = false;
  params.cpuparams.n_threads = options.threads > 0 ? options.threads : usable_cores();
  postprocess_cpu_params(params.cpuparams, nullptr);
  params.cpuparams_batch = params.cpuparams;
  params.n_gpu_layers = options.gpu_layers;
  params.no_extra_bufts = !options.extra_buffers;
  params.cache_ram_mib = 0;
  params.mmproj.path = options.mmproj;
  params.mmproj_use_gpu = options.gpu_layers != 0;
  params.image_min_tokens = options.image_tokens_min;
  params.image_max_tokens = options.image_tokens_max;
  return params;
}

}  // namespace

// server_decision_context::can_use_images() in llama.cpp's server-decision.h.
bool head_reads_images(const std::string& decision_head) {
  return decision_head == "openjev" || decision_head == "clef";
}

struct LlamaDecisionHead::Parts {
  common_params params;
  server_context context;
  std::unique_ptr<server_routes> routes;
  std::thread loop;
};

LlamaDecisionHead::LlamaDecisionHead(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LlamaDecisionHead::~LlamaDecisionHead() {
  parts_->context.terminate();
  if (parts_->loop.joinable()) parts_->loop.join();
}

Result<std::unique_ptr<LlamaDecisionHead>> LlamaDecisionHead::open(const ModelOptions& options) {
  start_llama();
  try {
    prepare_packing(options, {});
    auto parts = std::make_unique<Parts>();
    parts->params = server_params(options);
    parts->routes = std::make_unique<server_routes>(parts->params, parts->context);
    if (!parts->context.load_model(parts->params)) {
      return Error{ErrorCode::kUnsupportedModel, options.path + " cannot be loaded: " + take_llama_error(), "model"};
    }
    if (const Result<PackingReport> packing = finish_packing(options, 0); !packing.ok()) return packing.error();
    parts->routes->update_meta(parts->context);
    parts->loop = std::thread([context = &parts->context] { context->start_loop(); });
    return std::unique_ptr<LlamaDecisionHead>(new LlamaDecisionHead(std::move(parts)));
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kUnsupportedModel, options.path + " cannot be loaded: " + exception.what(), "model"};
  }
}

Result<HeadReply> LlamaDecisionHead::answer(const std::string& state_json, const std::vector<HeadQuestion>& questions,
                                            const std::vector<std::string>& image_urls) {
  try {
    Json body = {{"state", Json::parse(state_json)}, {"questions", Json::object()}};
    if (!image_urls.empty()) body["images"] = image_urls;
    for (std::size_t i = 0; i < questions.size(); i++)
      body["questions"]["q" + std::to_string(i)] = question_json(questions[i]);
    const std::function<bool()> never_stop = [] { return false; };
    const server_http_req request{{}, {}, "/v1/systemone", "", body.dump(), {}, never_stop};
    const server_http_res_ptr response = parts_->routes->post_systemone(request);
    if (response->status != 200) return error_of(response->status, response->data);
    const Json reply = Json::parse(response->data);
    HeadReply head;
    head.input_tokens = reply.at("usage").at("input_tokens");
    for (std::size_t i = 0; i < questions.size(); i++) {
      Result<HeadAnswer> answer = answer_of(reply.at("answers").at("q" + std::to_string(i)), questions[i]);
      if (!answer.ok()) return answer.error();
      head.answers.push_back(std::move(answer).value());
    }
    return head;
  } catch (const std::invalid_argument& exception) {
    return invalid_argument("questions", exception.what());
  } catch (const std::exception& exception) {
    return error_of(500, exception.what());
  }
}

std::string LlamaDecisionHead::description() const { return parts_->context.get_meta().model_ftype; }
std::uint64_t LlamaDecisionHead::weights_bytes() const { return parts_->context.get_meta().model_size; }
std::uint64_t LlamaDecisionHead::parameters() const { return parts_->context.get_meta().model_n_params; }
std::int32_t LlamaDecisionHead::trained_context_tokens() const { return parts_->context.get_meta().model_n_ctx_train; }
std::int32_t LlamaDecisionHead::vocabulary_tokens() const { return parts_->context.get_meta().model_vocab_n_tokens; }
std::int32_t LlamaDecisionHead::context_tokens() const { return parts_->context.get_meta().slot_n_ctx; }

}  // namespace assay::engine
