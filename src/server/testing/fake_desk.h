#pragma once
// A LessonDesk for tests: remembers what it was asked and answers what the test says.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/lesson_desk.h"

namespace assay::server::testing {

// Knows the lesson "refunds" and the decision "d1" with the options "refund" and "info". Thread-safe once set up.
class FakeDesk final : public LessonDesk {
 public:
  // Every call fails with this from now on.
  void fail_with(Error error) { error_ = std::move(error); }
  // What was asked, one line for each call.
  std::vector<std::string> calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  DeskStats& counts() { return stats_; }

  Value list() const override {
    note("list");
    return Value(Value::Object{{"lessons", Value(Value::Array{})}});
  }
  Result<std::string> export_lesson(const std::string& name, std::optional<std::int32_t> version) const override {
    note("export " + name + " " + (version ? std::to_string(*version) : "active"));
    if (Status known = check(name); !known.ok()) return known.error();
    return std::string(R"({"name": "refunds"})");
  }
  Result<Value> import_lesson(const std::string& text, bool shadow) override {
    note("import " + text + (shadow ? " shadow" : ""));
    return done("refunds");
  }
  Result<Value> activate(const std::string& name, std::int32_t version) override {
    note("activate " + name + " " + std::to_string(version));
    return done(name);
  }
  Result<Value> fit(const std::string& name, const FitOptions& options) override {
    note("fit " + name + " " + options.method + " " + (options.risk ? to_json_text(Value(*options.risk)) : "no risk") +
         " " + to_json_text(Value(options.level)) + (options.shadow ? " shadow" : "") +
         (options.without_thresholds ? " without thresholds" : ""));
    return done(name);
  }
  Result<Value> promote(const std::string& name, bool force) override {
    note("promote " + name + (force ? " force" : ""));
    return done(name);
  }
  Status drop_shadow(const std::string& name) override {
    note("drop " + name);
    return check(name);
  }
  Result<Value> health(const std::string& name) const override {
    note("health " + name);
    return done(name);
  }
  std::vector<Result<FeedbackResult>> feedback(const std::vector<Feedback>& list) override {
    std::vector<Result<FeedbackResult>> out;
    for (const Feedback& one : list) {
      note("feedback " + one.decision_id + " " + one.question_id + " " + one.option + " " + one.note);
      out.push_back(give(one));
    }
    return out;
  }
  Result<std::string> decision(const std::string& id) const override {
    note("decision " + id);
    if (error_) return *error_;
    if (id != "d1") return Error{ErrorCode::kNotFound, "no decision of that id is kept", "id"};
    return std::string(R"({"id": "d1"})");
  }
  // "d1" at place 1 and "d2" at place 2, which is labelled.
  Status export_decisions(const ExportQuery& query,
                          const std::function<bool(std::string_view line)>& write) const override {
    note("decisions after " + std::to_string(query.after) + " " + std::to_string(query.limit) +
         (query.labelled_only ? " labelled" : ""));
    if (error_) return *error_;
    std::size_t written = 0;
    for (std::int64_t place = 1; place <= 2; place++) {
      if (place <= query.after || (query.labelled_only && place == 1)) continue;
      if (query.limit > 0 && written++ == query.limit) return {};
      if (!write(R"({"id": "d)" + std::to_string(place) + R"("})")) return {};
    }
    return {};
  }
  Result<bool> forget(const std::string& id) override {
    note("forget " + id);
    if (error_) return *error_;
    return id == "d1";
  }
  DeskStats stats() const override { return stats_; }

 private:
  void note(std::string call) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
  }
  Status check(const std::string& name) const {
    if (error_) return *error_;
    return name == "refunds" ? Status()
                             : Status(Error{ErrorCode::kNotFound, "there is no lesson of that name", "name"});
  }
  Result<Value> done(const std::string& name) const {
    const Status known = check(name);
    if (!known.ok()) return known.error();
    return Value(Value::Object{{"name", Value(name)}});
  }
  Result<FeedbackResult> give(const Feedback& feedback) {
    if (error_) return *error_;
    if (feedback.decision_id != "d1")
      return Error{ErrorCode::kNotFound, "no decision of that id is kept", "decision_id"};
    if (feedback.option != "refund" && feedback.option != "info") {
      return invalid_argument("option", "option is none of the question's");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_new = label_.empty();
    const bool is_same = label_ == feedback.option;
    label_ = feedback.option;
    return is_new ? FeedbackResult::kStored : (is_same ? FeedbackResult::kKnown : FeedbackResult::kCorrected);
  }

  std::optional<Error> error_;
  DeskStats stats_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::vector<std::string> calls_;
  std::string label_;
};

}  // namespace assay::server::testing
