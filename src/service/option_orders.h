#pragma once
// Question::permute: a question asked with its options in several orders and answered with the mean. The questions that
// are really asked are made here, and their answers put together again; who computes them knows nothing of it.

#include <cstddef>
#include <functional>
#include <vector>

#include "assay/decision.h"

namespace assay::service {

// Used by one thread; the request outlives it.
class OptionOrders {
 public:
  // `applies` says for which questions an order has a part in the answer; the others are asked once.
  OptionOrders(const DecisionRequest& request, const std::function<bool(const Question&)>& applies);
  OptionOrders(const OptionOrders&) = delete;
  OptionOrders& operator=(const OptionOrders&) = delete;

  // Every question is asked once, in its own order: nothing to do.
  bool trivial() const { return asked_.size() == request_.questions.size(); }
  // Each order costs what a question costs, so all orders of a request together may be as many as
  // questions: else kInvalidArgument at the `permute` of the question with the most.
  Status check_count(std::size_t questions_max) const;
  // The request with all orders of a question side by side. Its on_answer, when the original has one, gives the
  // original the mean as soon as the last order of a question is there.
  DecisionRequest expanded();
  // The reply to the original. An answer's numbers are means over the orders; prompt, tokens and explanations are the
  // first order's, which is the caller's own.
  DecisionReply merged(DecisionReply reply) const;
  // An error of the expanded request in the original's terms.
  Error in_original(Error error) const;

 private:
  struct Asked {
    std::size_t question = 0;  // of the original
    std::size_t shift = 0;     // option i of this order is option (i + shift) mod n of the original
  };

  Answer mean(std::size_t question, const std::vector<const Answer*>& orders) const;
  std::vector<std::size_t> orders_of(std::size_t question) const;

  const DecisionRequest& request_;
  std::vector<Asked> asked_;                                        // by question of the expanded request
  std::vector<std::vector<std::pair<std::size_t, Answer>>> early_;  // by original question: what came so far
};

}  // namespace assay::service
