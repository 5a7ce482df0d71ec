#pragma once
// The bodies of System One's answers. Keys stand in a fixed order; doubles are written so that reading them gives the
// same bits, unless they are to be rounded. Whatever the contract does not know begins with x_.

#include <cstddef>
#include <string>

#include "assay/decision.h"
#include "server/wires/systemone_request.h"

namespace assay::server {

// How a reply shows itself.
struct SystemOneStyle {
  std::string model_id;
  int round_digits = 0;  // 0: doubles as they are
};

// {"model", "answers": {id: answer, …}, "usage": {"input_tokens", "output_tokens"}, "x_calibrated", …}, answers in the
// request's order. noul is the probability of yes, choice the name of the likeliest option, score the mean level before
// any rounding; where an answer abstained they are null and x_reason says "abstained". kNonfiniteLogits when any number
// is NaN or infinite. REQUIRES: `reply` answers the request of `echo`.
Result<std::string> system_one_reply(const SystemOneEcho& echo, const SystemOneStyle& style,
                                     const DecisionReply& reply);
// One answer of several for the event stream: {"id": the question's, "answer": as above}.
Result<std::string> system_one_answer(const SystemOneEcho& echo, const SystemOneStyle& style, std::size_t question,
                                      const Answer& answer);

}  // namespace assay::server
