#pragma once
// One question of System One's: noul, choice or score.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/wires/systemone_error.h"
#include "server/wires/systemone_request.h"

namespace assay::server {

// What is wrong with a body. Faults come first: a body that breaks the rules is never called merely too large.
class SystemOneFaults {
 public:
  void add(Value::Array loc, std::string msg, std::string type);
  // The first one is kept.
  void add_usage_error(std::string message);

  bool none() const { return faults_.empty() && !usage_error_.has_value(); }
  // REQUIRES: not none().
  WireRefusal refusal() const;

 private:
  std::vector<SystemOneFault> faults_;
  std::size_t more_ = 0;  // beyond the most that are listed
  std::optional<std::string> usage_error_;
};

// Reads one question and appends it to the request; on a fault the request is not to be used.
void read_system_one_question(const Value::Member& member, const WireSettings& settings, const QuestionFields& all,
                              SystemOneRequest& out, SystemOneFaults& faults);

}  // namespace assay::server
