// The built-in rows answered as requests would be: with the same cuts, so that the check says what users will get.
#include "decision/self_check_rows.h"
#include "service/local_decider.h"

namespace assay::service {

Result<std::vector<std::size_t>> LocalDecider::answer_check(Readout readout) {
  std::vector<std::size_t> picked;
  for (const decision::SelfCheckRow& row : decision::self_check_rows()) {
    DecisionRequest request{
        .state = Value(row.state),
        .questions = {{.id = "check", .text = row.question, .type = row.type, .options = row.options}},
        .readout = readout,
        .layout = Layout::kStateFirst};
    const Result<DecisionReply> reply = compute(request);
    if (!reply.ok()) return reply.error();
    picked.push_back(reply->answers.front().best);
  }
  return picked;
}

}  // namespace assay::service
