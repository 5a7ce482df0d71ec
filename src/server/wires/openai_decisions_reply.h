#pragma once
// Answers as POST /v1/decisions gives them: numbers are finite, token counts integers, nothing is null but a name.

#include <string>
#include <vector>

#include "assay/decision.h"
#include "server/wires/openai_decisions_request.h"

namespace assay::server {

// What a reply is written from besides the answers. A value of its own, since the request goes to the decider.
struct OpenAiReplyForm {
  std::vector<OpenAiQuestion> questions;
  std::string model_id;
  int round_digits = 0;       // WireSettings::round_digits
  bool explain = false;       // x_explain was asked for
  bool hidden_state = false;  // x_hidden_state was
};

// {"answers": […], "model", "usage"}, then x_answer_cache and x_receipt where there is something to say. An answer is a
// predicate, a choice or a score; one that abstained is {"type": "refusal", "name", "x_reason": "abstained",
// "x_answer": what it would have been}. Every answer says x_confidence (a predicate only), x_entropy, x_readout and
// x_reliability, and what else was asked for. kNonfiniteLogits when a number is NaN or infinite.
// REQUIRES: `reply` answers the form's questions.
Result<std::string> openai_decisions_reply(const OpenAiReplyForm& form, const DecisionReply& reply);

// One answer as an event of a stream: as above, with its position as "index" before it.
Result<std::string> openai_decisions_event(const OpenAiReplyForm& form, std::size_t question, const Answer& answer);

}  // namespace assay::server
