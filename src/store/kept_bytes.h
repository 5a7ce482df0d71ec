#pragma once
// Bytes beside the decisions, by their key: what was computed from states, and notes. Every function is part of the
// caller's transaction.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "assay/error.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

// Keeps bytes for the decision of this number. A key that is there already keeps its bytes.
Status insert_bytes(Database& database, std::int64_t decision, const StoredBytes& bytes);
// The same by the decision's id; with an empty id they are nobody's. Nothing happens when there is no such decision
// (any more).
Status put_bytes(Database& database, const std::string& decision_id, const StoredBytes& bytes);
// Of nobody's bytes whose keys are `beginning`, a name, '/' and more: those whose name is none of these go.
Status erase_other_bytes(Database& database, const std::string& beginning, const std::set<std::string>& names);

// How many bytes are kept.
Result<std::uint64_t> count_bytes(Database& database);
// When there are more than `bytes_max` of them, bytes go until a twentieth less is left, the oldest first: those of
// decisions without a label, then the others. Returns how many are left.
Result<std::uint64_t> trim_bytes(Database& database, std::uint64_t bytes_max);

// Numbers of this program's own, nothing of anybody's state: they take the place of what was under the key, and are
// neither counted nor trimmed as bytes are.
Status put_note(Database& database, const StoredBytes& note);

Result<std::optional<std::string>> find_bytes(Database& database, const std::string& key);
Result<std::optional<std::string>> find_note(Database& database, const std::string& key);

}  // namespace assay::store
