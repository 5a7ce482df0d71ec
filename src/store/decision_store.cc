#include "store/decision_store.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/utf8.h"
#include "store/decision_line.h"
#include "store/decision_rows.h"
#include "store/kept_bytes.h"
#include "store/schema.h"

namespace assay::store {
namespace {

constexpr std::size_t kExportRows = 256;                    // decisions in one page
constexpr std::size_t kExportBytes = std::size_t{4} << 20;  // of states in one page

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

bool is_whole(const AnswerRecord& answer) {
  const std::size_t count = answer.options.size();
  const auto fits = [count](const std::vector<double>& numbers) {
    return numbers.size() == count && all_finite(numbers);
  };
  if (count == 0 || answer.best >= count || !fits(answer.scores) || !fits(answer.probabilities)) return false;
  if (!std::isfinite(answer.confidence) || !std::isfinite(answer.lesson.threshold.value_or(0)) ||
      !std::isfinite(answer.lesson.risk.value_or(0))) {
    return false;
  }
  if (!answer.zero_shot_scores.empty() && !fits(answer.zero_shot_scores)) return false;
  if (!answer.shadow) return true;
  return answer.shadow->best < count && fits(answer.shadow->probabilities) && std::isfinite(answer.shadow->confidence);
}

bool is_whole(const DecisionRecord& record) {
  return !record.id.empty() && !record.answers.empty() && !record.state.empty() &&
         std::all_of(record.answers.begin(), record.answers.end(),
                     [](const AnswerRecord& answer) { return is_whole(answer); });
}

Status check_feedback(const Feedback& feedback) {
  if (feedback.decision_id.empty()) return invalid_argument("decision_id", "must not be empty");
  if (feedback.option.empty()) return invalid_argument("option", "must not be empty");
  if (feedback.note.size() > Feedback::kNoteBytesMax) {
    return Error{ErrorCode::kTooLong,
                 "has " + std::to_string(feedback.note.size()) + " bytes; the limit is " +
                     std::to_string(Feedback::kNoteBytesMax),
                 "note"};
  }
  const std::pair<const char*, const std::string*> texts[] = {{"decision_id", &feedback.decision_id},
                                                              {"question_id", &feedback.question_id},
                                                              {"option", &feedback.option},
                                                              {"note", &feedback.note}};
  for (const auto& [field, text] : texts) {
    if (first_invalid_utf8(*text)) return invalid_argument(field, "is not valid UTF-8");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DecisionStore>> DecisionStore::open(const std::string& path, const StoreOptions& options) {
  const SchemaOptions schema{.busy_ms = options.busy_ms, .file_bytes_max = options.file_bytes_max};
  Result<std::unique_ptr<Database>> writes = open_for_writing(path, schema);
  if (!writes.ok()) return writes.error();
  // What a process that was killed had erased may still stand in its log. Another program may read it; then it stays.
  static_cast<void>((*writes)->integer_of("PRAGMA wal_checkpoint(TRUNCATE)"));
  Result<std::unique_ptr<Database>> reads = open_for_reading(path, schema);
  if (!reads.ok()) return reads.error();
  return std::unique_ptr<DecisionStore>(
      new DecisionStore(path, options, std::move(writes).value(), std::move(reads).value()));
}

DecisionStore::DecisionStore(std::string path, const StoreOptions& options, std::unique_ptr<Database> writes,
                             std::unique_ptr<Database> reads)
    : path_(std::move(path)), options_(options), writer_(std::move(writes), options.writer), reads_(std::move(reads)) {}

DecisionStore::~DecisionStore() { close(); }

bool DecisionStore::record(DecisionRecord record) {
  if (is_whole(record)) return writer_.record(std::move(record));
  log_line(LogLevel::kError, "a decision that is no whole one was not kept");
  const std::lock_guard<std::mutex> lock(counts_mutex_);
  ++counts_.writer.lost;
  return false;
}

Result<FeedbackResult> DecisionStore::add_feedback(const Feedback& feedback) {
  return add_feedback(std::vector<Feedback>{feedback}).front();
}

std::vector<Result<FeedbackResult>> DecisionStore::add_feedback(const std::vector<Feedback>& list) {
  std::vector<Result<FeedbackResult>> out(list.size(), FeedbackResult::kStored);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < list.size(); i++) {
    const Status checked = check_feedback(list[i]);
    if (checked.ok()) ids.push_back(list[i].decision_id);
    if (!checked.ok()) out[i] = checked.error();
  }
  if (!ids.empty()) {
    std::vector<Result<FeedbackResult>> put = out;
    const std::int64_t now_ms = writer_.now_ms();
    const Status done = writer_.call(std::move(ids), [&](Database& database) {
      put = out;  // it may be tried twice
      for (std::size_t i = 0; i < list.size(); i++) {
        if (!put[i].ok()) continue;
        put[i] = put_feedback(database, list[i], now_ms);
        if (!put[i].ok() && is_of_file(put[i].error())) return Status(put[i].error());
      }
      return Status();
    });
    for (std::size_t i = 0; i < list.size(); i++) {
      if (out[i].ok()) out[i] = done.ok() ? put[i] : Result<FeedbackResult>(done.error());
    }
  }
  for (const Result<FeedbackResult>& result : out) count(result);
  return out;
}

void DecisionStore::count(const Result<FeedbackResult>& result) {
  const std::lock_guard<std::mutex> lock(counts_mutex_);
  if (!result.ok()) {
    ++counts_.refused;
  } else if (*result == FeedbackResult::kStored) {
    ++counts_.stored;
  } else {
    ++(*result == FeedbackResult::kKnown ? counts_.known : counts_.corrected);
  }
}

// What waits is written first, so that a read sees it.
Status DecisionStore::settle_waiting() { return writer_.stats().queued == 0 ? Status() : flush(); }

Result<std::optional<DecisionRecord>> DecisionStore::find(const std::string& id) {
  const auto look = [&] {
    const std::lock_guard<std::mutex> lock(reads_mutex_);
    return find_decision(*reads_, id);
  };
  Result<std::optional<DecisionRecord>> found = look();
  if (!found.ok() || found->has_value()) return found;
  // It may still wait to be written.
  if (const Status settled = flush(); !settled.ok()) return settled.error();
  return look();
}

Result<bool> DecisionStore::forget(const std::string& id) {
  bool erased = false;
  const Status done = writer_.call({id}, [&](Database& database) {
    const Result<bool> was = erase_decision(database, id);
    if (!was.ok()) return Status(was.error());
    erased = *was;
    if (erased) writer_.empty_log();
    return Status();
  });
  if (!done.ok()) return done.error();
  if (erased) {
    const std::lock_guard<std::mutex> lock(counts_mutex_);
    ++counts_.forgotten;
  }
  if (writer_.log_is_empty()) return erased;
  return Error{ErrorCode::kUnavailable,
               "the decision is removed, but the log beside the file cannot be emptied while another program reads it; "
               "ask again",
               "", 1};
}

Result<std::vector<AnswerRow>> DecisionStore::answers(const AnswerFilter& filter, std::optional<std::int64_t> after,
                                                      std::size_t rows_max) {
  if (const Status settled = settle_waiting(); !settled.ok()) return settled.error();
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return answer_rows(*reads_, filter, after, rows_max);
}

Result<std::vector<QuestionCount>> DecisionStore::questions() {
  if (const Status settled = settle_waiting(); !settled.ok()) return settled.error();
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return question_counts(*reads_);
}

Result<std::vector<LabelMark>> DecisionStore::label_marks(std::int64_t after, std::size_t marks_max) {
  if (const Status settled = settle_waiting(); !settled.ok()) return settled.error();
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return store::label_marks(*reads_, after, marks_max);
}

namespace {

// Pages until there are no more, or enough.
Status write_lines(const ExportQuery& query,
                   const std::function<Result<std::vector<DecisionRecord>>(const DecisionPage& page)>& read,
                   const std::function<bool(std::string_view line)>& write) {
  DecisionPage page{.after = query.after, .labelled_only = query.labelled_only, .bytes_max = kExportBytes};
  for (std::size_t written = 0; query.limit == 0 || written < query.limit;) {
    page.rows_max = query.limit == 0 ? kExportRows : std::min(kExportRows, query.limit - written);
    const Result<std::vector<DecisionRecord>> records = read(page);
    if (!records.ok()) return records.error();
    if (records->empty()) return {};
    for (const DecisionRecord& record : *records) {
      const Result<std::string> line = decision_line(record);
      if (!line.ok()) return line.error();
      if (!write(*line)) return {};
    }
    written += records->size();
    page.after = records->back().place;
  }
  return {};
}

}  // namespace

Status DecisionStore::export_lines(const ExportQuery& query, const std::function<bool(std::string_view line)>& write) {
  if (Status settled = settle_waiting(); !settled.ok()) return settled;
  const auto read = [this](const DecisionPage& page) {
    const std::lock_guard<std::mutex> lock(reads_mutex_);
    return decisions_after(*reads_, page);
  };
  return write_lines(query, read, write);
}

Status DecisionStore::export_file(const std::string& path, const ExportQuery& query,
                                  const std::function<bool(std::string_view line)>& write) {
  const Result<std::unique_ptr<Database>> database = open_existing(path, {});
  if (!database.ok()) return database.error();
  return write_lines(query, [&](const DecisionPage& page) { return decisions_after(**database, page); }, write);
}

Status DecisionStore::put_shadow(const AnswerPlace& place, const ShadowAnswer& shadow,
                                 const std::function<StoredBytes()>& with) {
  return writer_.call({place.decision_id}, [&](Database& database) {
    if (Status put = store::put_shadow(database, place, shadow); !put.ok()) return put;
    return put_note(database, with());
  });
}

Result<ShadowLabels> DecisionStore::shadow_labels(const std::string& lesson, std::int32_t active, std::int32_t shadow) {
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return count_shadow_labels(*reads_, lesson, active, shadow);
}

Status DecisionStore::put_bytes(const std::vector<std::pair<std::string, StoredBytes>>& bytes) {
  std::uint64_t count = 0;
  for (const auto& [unused, one] : bytes) count += one.bytes.size();
  const Status done = writer_.call({}, [&](Database& database) {
    for (const auto& [decision_id, one] : bytes) {
      if (Status put = store::put_bytes(database, decision_id, one); !put.ok()) return put;
    }
    writer_.count_state_bytes(count);
    return Status();
  });
  return done;
}

Status DecisionStore::erase_other_bytes(const std::string& beginning, const std::set<std::string>& names) {
  return writer_.call({}, [&](Database& database) { return store::erase_other_bytes(database, beginning, names); });
}

Result<std::optional<std::string>> DecisionStore::note(const std::string& key) {
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return find_note(*reads_, key);
}

Result<std::optional<std::string>> DecisionStore::bytes(const std::string& key) {
  const std::lock_guard<std::mutex> lock(reads_mutex_);
  return find_bytes(*reads_, key);
}

Status DecisionStore::flush() {
  return writer_.call({}, [](Database&) { return Status(); });
}

void DecisionStore::close() { writer_.close(); }

StoreStats DecisionStore::stats() const {
  const WriterStats writer = writer_.stats();
  const std::lock_guard<std::mutex> lock(counts_mutex_);
  StoreStats out = counts_;
  const std::uint64_t broken = counts_.writer.lost;
  out.writer = writer;
  out.writer.lost += broken;
  return out;
}

}  // namespace assay::store
