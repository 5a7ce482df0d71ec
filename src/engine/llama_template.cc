#include "engine/llama_template.h"

#include <chat.h>
#include <jinja/runtime.h>
#include <jinja/value.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <string_view>
#include <utility>

namespace assay::engine {
namespace {

// Templates may ask for today's date (Llama 3 writes it into the system turn). The same request must give the same bits
// tomorrow, so the date is always the one that those templates write when nobody tells them: 26 July 2024, noon UTC.
constexpr std::time_t kTemplateTime = 1721995200;

// Opening and closing tags of thinking blocks, as the families write them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kThinkingTags = {{
    {"<think>", "</think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<seed:think>", "</seed:think>"},
    {"[THINK]", "[/THINK]"},
    {"<thought>", "</thought>"},
    {"<|channel>thought", "<channel|>"},
    {"<|channel|>analysis", "<|end|>"},
    {"<thinking>", "</thinking>"},
    {"<reasoning>", "</reasoning>"},
    {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
}};

jinja::value content_value(const std::string& content, bool typed) {
  auto text = jinja::mk_val<jinja::value_string>(content);
  text->mark_input();
  if (!typed) return text;
  auto part = jinja::mk_val<jinja::value_object>();
  part->insert("type", jinja::mk_val<jinja::value_string>(std::string("text")));
  part->insert("text", text);
  auto parts = jinja::mk_val<jinja::value_array>();
  parts->push_back(part);
  return parts;
}

}  // namespace

struct LlamaTemplate::Parsed {
  common_chat_template chat;
};

LlamaTemplate::LlamaTemplate(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
LlamaTemplate::~LlamaTemplate() = default;

const std::string& LlamaTemplate::source() const { return parsed_->chat.source(); }

Result<std::unique_ptr<LlamaTemplate>> LlamaTemplate::parse(const std::string& source, const std::string& bos_text,
                                                            const std::string& eos_text) {
  try {
    auto parsed = std::make_unique<Parsed>(Parsed{common_chat_template(source, bos_text, eos_text)});
    return std::unique_ptr<LlamaTemplate>(new LlamaTemplate(std::move(parsed)));
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kUnsupportedModel, std::string("The chat template cannot be parsed: ") + exception.what(),
                 "chat_template"};
  }
}

Result<RenderedChat> LlamaTemplate::render(const std::vector<ChatTurn>& turns, RenderOptions options) const {
  try {
    const common_chat_template& chat = parsed_->chat;
    const bool typed = !chat.caps.supports_string_content && chat.caps.supports_typed_content;
    jinja::context context(chat.source());
    context.current_time = kTemplateTime;
    auto messages = jinja::mk_val<jinja::value_array>();
    for (const ChatTurn& turn : turns) {
      auto message = jinja::mk_val<jinja::value_object>();
      message->insert("role", jinja::mk_val<jinja::value_string>(turn.role));
      message->insert("content", content_value(turn.content, typed));
      messages->push_back(message);
    }
    context.set_val("messages", messages);
    context.set_val("bos_token", jinja::mk_val<jinja::value_string>(chat.bos_token()));
    context.set_val("eos_token", jinja::mk_val<jinja::value_string>(chat.eos_token()));
    context.set_val("enable_thinking", jinja::mk_val<jinja::value_bool>(options.thinking));
    context.set_val("thinking", jinja::mk_val<jinja::value_bool>(options.thinking));
    // Cohere's, ByteDance's, MiniMax's and Ling's words for the same.
    context.set_val("reasoning", jinja::mk_val<jinja::value_bool>(options.thinking));
    context.set_val("thinking_budget", jinja::mk_val<jinja::value_int>(options.thinking ? -1 : 0));
    context.set_val("thinking_mode",
                    jinja::mk_val<jinja::value_string>(std::string(options.thinking ? "enabled" : "disabled")));
    context.set_val("thinking_option",
                    jinja::mk_val<jinja::value_string>(std::string(options.thinking ? "on" : "off")));
    if (options.generation_prompt) context.set_val("add_generation_prompt", jinja::mk_val<jinja::value_bool>(true));
    jinja::runtime runtime(context);
    const jinja::value results = runtime.execute(chat.prog);
    const auto parts = jinja::runtime::gather_string_parts(results);
    RenderedChat rendered;
    for (const jinja::string_part& part : parts->val_str.parts) {
      rendered.text += part.val;
      rendered.is_content.insert(rendered.is_content.end(), part.val.size(), part.is_input);
    }
    return rendered;
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kUnsupportedModel, std::string("The chat template cannot be rendered: ") + exception.what(),
                 "chat_template"};
  }
}

Thinking thinking_after_content(const RenderedChat& chat) {
  std::size_t begin = chat.text.size();
  while (begin > 0 && !chat.is_content[begin - 1]) begin--;
  const std::string_view tail = std::string_view(chat.text).substr(begin);
  Thinking found = Thinking::kNone;
  for (const auto& [open, close] : kThinkingTags) {
    const std::size_t last_open = tail.rfind(open);
    if (last_open == std::string_view::npos) continue;
    const std::size_t last_close = tail.rfind(close);
    if (last_close == std::string_view::npos || last_close < last_open) return Thinking::kOpen;
    found = Thinking::kClosed;
  }
  return found;
}

}  // namespace assay::engine
