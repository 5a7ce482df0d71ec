#pragma once
// POST /v1/chat/completions with "x_decide": true: a chat request whose answer is one of a list of values, answered by
// one decision instead of generated text (docs/openai.md).

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "server/wires/wire_format.h"
#include "server/wires/wire_settings.h"

namespace assay::server {

// Thread-safe and without state that changes. Where the values stand is what chat_decide_choice.h reads, the question
// and the state what chat_decide_messages.h makes of the messages, replies are chat_decide_reply.h's, errors OpenAI's.
// With "stream": true the reply is the whole event stream. There is no write_answer: a request has one question.
class ChatDecideWire final : public Wire {
 public:
  // Nanoseconds since 1970, for `created` and the ids of replies; empty: the system's clock.
  using UnixClock = std::function<std::int64_t()>;
  explicit ChatDecideWire(WireSettings settings, UnixClock unix_ns = {});

  // A body without "x_decide": true is refused: no text is generated here.
  std::variant<ParsedWire, WireRefusal> parse(const HttpRequest& request) const override;
  WireRefusal refuse(const Error& error) const override;

  // True when a body is for this wire: its x_decide is anything but false or null, or it has that word and cannot be
  // read. Costs a search of the text, and reading it only where x_decide is in it.
  static bool wants(const HttpRequest& request);

 private:
  const WireSettings settings_;
  const UnixClock unix_ns_;
};

}  // namespace assay::server
