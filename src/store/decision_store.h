#pragma once
// Where decisions and what people said of them are kept: one SQLite file beside which lies its write-ahead log.
//
//   Result<std::unique_ptr<DecisionStore>> store = DecisionStore::open("decisions.db", {});
//   (*store)->record(record);                                          // returns at once
//   (*store)->add_feedback({.decision_id = id, .option = "refund"});   // durable when it returns
//
// What is acknowledged outlives the process and, where the disk keeps its word, the machine. A record that was given to
// record() within the last batch_ms may be gone when the process is killed; feedback never, nor the decision under it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/error.h"
#include "assay/lesson_desk.h"
#include "store/database.h"
#include "store/decision_reads.h"
#include "store/decision_record.h"
#include "store/shadow_rows.h"
#include "store/writer.h"

namespace assay::store {

struct StoreOptions {
  WriterOptions writer;              // what is kept, for how long, and how much may wait
  int busy_ms = 2000;                // how long another program's lock is waited for
  std::uint64_t file_bytes_max = 0;  // the file grows no further, as if the disk were full; 0: no limit
};

struct StoreStats {
  WriterStats writer;
  std::uint64_t stored = 0;  // feedback by what it was
  std::uint64_t known = 0;
  std::uint64_t corrected = 0;
  std::uint64_t refused = 0;
  std::uint64_t forgotten = 0;  // decisions
};

// Thread-safe. What can go wrong with the file comes back as store_error() says; nothing throws.
class DecisionStore {
 public:
  // Errors beside store_error()'s: kInvalidArgument for another program's database, kUnavailable for one that a newer
  // Assay made.
  static Result<std::unique_ptr<DecisionStore>> open(const std::string& path, const StoreOptions& options);
  ~DecisionStore();  // close()
  DecisionStore(const DecisionStore&) = delete;
  DecisionStore& operator=(const DecisionStore&) = delete;

  // Leaves the decision with the writer; never waits. False: it is not kept, which is counted; the queue was full, the
  // store is closed, or the record is no whole one (as many scores and probabilities as options, all finite). A second
  // record of the same id is ignored.
  bool record(DecisionRecord record);

  // Durable when it returns. The same again changes nothing; another option takes the place of the one before, and a
  // note that of the note before. Errors: kNotFound (field "decision_id"), kInvalidArgument (field "question_id",
  // "option" or "note"), kOverloaded.
  Result<FeedbackResult> add_feedback(const Feedback& feedback);
  // Several in one transaction, one result for each. What is wrong with one says nothing of the others; a failed file
  // fails them all.
  std::vector<Result<FeedbackResult>> add_feedback(const std::vector<Feedback>& list);

  // Decisions that still wait to be written are found, too. Nothing: there is none of that id.
  Result<std::optional<DecisionRecord>> find(const std::string& id);

  // Removes the decision, its answers, feedback and bytes, and overwrites where they stood, in the file and in its log.
  // False: there was none. kUnavailable when the log could not be emptied because another program reads it: the
  // decision is gone, and calling again tries again.
  Result<bool> forget(const std::string& id);

  // Pages of what is kept (decision_reads.h). REQUIRES: rows_max >= 1.
  Result<std::vector<AnswerRow>> answers(const AnswerFilter& filter, std::optional<std::int64_t> after,
                                         std::size_t rows_max);
  Result<std::vector<QuestionCount>> questions();
  Result<std::vector<LabelMark>> label_marks(std::int64_t after, std::size_t marks_max);

  // Each decision as one line of JSON without its end (decision_line.h), in the order of arrival. Ends early, without
  // an error, when `write` says false. A few are in memory at a time, and between them others may write.
  Status export_lines(const ExportQuery& query, const std::function<bool(std::string_view line)>& write);
  // The same of a file that lies there, also while a server keeps it; nothing is made or changed. Errors beside those
  // of open(): kNotFound where there is no such file.
  static Status export_file(const std::string& path, const ExportQuery& query,
                            const std::function<bool(std::string_view line)>& write);

  // shadow_rows.h. `with`: a note that is kept in the same transaction; it is made when that is at work.
  Status put_shadow(const AnswerPlace& place, const ShadowAnswer& shadow, const std::function<StoredBytes()>& with);
  Result<ShadowLabels> shadow_labels(const std::string& lesson, std::int32_t active, std::int32_t shadow);

  // Bytes of decisions, by (decision id, bytes), nobody's where the id is empty: durable when it returns. Those of
  // decisions that are not kept (any more) are not kept either; a key that is there already keeps its bytes.
  Status put_bytes(const std::vector<std::pair<std::string, StoredBytes>>& bytes);
  Result<std::optional<std::string>> bytes(const std::string& key);
  // kept_bytes.h
  Status erase_other_bytes(const std::string& beginning, const std::set<std::string>& names);
  Result<std::optional<std::string>> note(const std::string& key);

  // Returns when all that was recorded is durable.
  Status flush();
  // Refuses what comes and writes what is there; what cannot be written then is counted as lost. Idempotent.
  void close();

  Keep keep() const { return options_.writer.keep; }
  const std::string& path() const { return path_; }
  StoreStats stats() const;

 private:
  DecisionStore(std::string path, const StoreOptions& options, std::unique_ptr<Database> writes,
                std::unique_ptr<Database> reads);

  Status settle_waiting();
  void count(const Result<FeedbackResult>& result);

  const std::string path_;
  const StoreOptions options_;
  Writer writer_;
  std::mutex reads_mutex_;                 // guards the connection below
  const std::unique_ptr<Database> reads_;  // between two pages it holds no lock
  mutable std::mutex counts_mutex_;        // guards what follows
  StoreStats counts_;
};

}  // namespace assay::store
