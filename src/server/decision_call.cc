#include "server/decision_call.h"

#include <atomic>
#include <charconv>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/http/ascii.h"

namespace assay::server {
namespace {

// Faults of ours: what happened goes to the log only.
bool is_our_fault(ErrorCode code) { return code == ErrorCode::kInternal || code == ErrorCode::kIo; }

Result<DecisionOutcome> decide_and_write(const DecisionPlace& place, const ParsedWire& parsed) {
  const Result<DecisionReply> decided = place.decider.decide(parsed.request);
  if (!decided.ok()) return parsed.in_wire_terms ? parsed.in_wire_terms(decided.error()) : decided.error();
  Result<std::string> body = parsed.write_reply(decided.value());
  if (!body.ok()) return body.error();
  place.metrics.count_reply(decided.value());
  DecisionOutcome outcome;
  outcome.body = std::move(body).value();
  outcome.readout = readout_name(decided->answers.front().readout);
  outcome.decision_id = decided->decision_id;
  outcome.costs = DecisionCosts{.input_tokens = decided->input_tokens,
                                .cached_tokens = decided->cached_tokens,
                                .queue_ms = decided->queue_ms,
                                .compute_ms = decided->compute_ms};
  return outcome;
}

// "event: NAME\ndata: DATA\n\n". The data is JSON without a line break, as everything here is written.
std::string event_text(std::string_view name, std::string_view data) {
  std::string text = "event: ";
  text.append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes what stands before `separator` off the text; all of it where there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return trimmed(taken);
}

// The q of an Accept entry's parameters; 1 unless it says a number.
double quality(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view parameter = take_until(parameters, ';');
    if (!equal_ignoring_case(take_until(parameter, '='), "q")) continue;
    double q = 1;
    const std::string_view text = trimmed(parameter);
    if (std::from_chars(text.data(), text.data() + text.size(), q).ec == std::errc()) return q;
  }
  return 1;
}

}  // namespace

DecisionOutcome refuse_decision(const DecisionPlace& place, const Wire& wire, Error error,
                                const std::string& request_id) {
  place.metrics.count_refusal(error.code);
  if (is_our_fault(error.code)) {
    log_line(LogLevel::kError, "request " + request_id + ": " + error.message);
    error.message = "the request failed by a fault of the server; its log has the reason under this x-request-id";
    error.field.clear();
  }
  WireRefusal refusal = wire.refuse(error);
  return {
      .status = refusal.status, .body = std::move(refusal.body), .retry_after_seconds = refusal.retry_after_seconds};
}

DecisionOutcome make_decision(const DecisionPlace& place, const Wire& wire, const ParsedWire& parsed,
                              const std::string& request_id) {
  Error error{ErrorCode::kInternal, "", ""};
  try {
    Result<DecisionOutcome> outcome = decide_and_write(place, parsed);
    if (outcome.ok()) return std::move(outcome).value();
    error = outcome.error();
  } catch (const std::bad_alloc&) {
    error = Error{ErrorCode::kOutOfMemory, "memory ran out while the request was answered", ""};
  } catch (const std::exception& thrown) {
    error.message = thrown.what();
  } catch (...) {
    error.message = "an exception of unknown type";
  }
  return refuse_decision(place, wire, std::move(error), request_id);
}

DecisionOutcome stream_decision(const DecisionPlace& place, const Wire& wire, ParsedWire& parsed,
                                const std::string& request_id, const BodyWriter& write) {
  // Answers are told on this thread only; whether anybody is still there is asked from others too.
  std::atomic<bool> gone{false};
  std::vector<bool> told(parsed.request.questions.size(), false);
  const auto send = [&](std::string_view name, std::string_view data) {
    if (!gone.load() && !write(event_text(name, data))) gone.store(true);
  };
  // An answer that cannot be written is not told: the reply as a whole then ends as an error.
  const auto tell = [&](std::size_t question, const Answer& answer) {
    if (gone.load() || question >= told.size() || told[question]) return;
    const Result<std::string> data = parsed.write_answer(question, answer);
    if (!data.ok()) return;
    told[question] = true;
    send("answer", *data);
  };
  parsed.request.on_answer = tell;
  parsed.request.cancelled = [&gone, asked = std::move(parsed.request.cancelled)] {
    return gone.load() || (asked && asked());
  };
  // Whoever decides without telling, such as a cache of whole replies, is told for here.
  parsed.write_reply = [&tell, write_reply = std::move(parsed.write_reply)](const DecisionReply& reply) {
    for (std::size_t i = 0; i < reply.answers.size(); ++i) tell(i, reply.answers[i]);
    return write_reply(reply);
  };
  DecisionOutcome outcome = make_decision(place, wire, parsed, request_id);
  send(outcome.status == 200 ? "done" : "error", outcome.body);
  return outcome;
}

bool wants_event_stream(const HttpRequest& request) {
  const std::string* accept = find_header(request, "accept");
  if (accept == nullptr) return false;
  double stream = -1;
  double json = -1;
  bool stream_first = false;
  std::string_view rest = *accept;
  while (!rest.empty()) {
    std::string_view entry = take_until(rest, ',');
    const std::string_view type = take_until(entry, ';');
    if (equal_ignoring_case(type, kEventStreamType)) {
      stream = quality(entry);
      stream_first = json < 0;
    }
    if (equal_ignoring_case(type, "application/json")) json = quality(entry);
  }
  return stream > 0 && (stream > json || (stream == json && stream_first));
}

}  // namespace assay::server
