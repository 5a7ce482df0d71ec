#pragma once
// A kept decision as one line of JSON: what GET /v1/decisions/{id} gives and what an export holds (docs/decisions.md).

#include <cstdint>
#include <string>

#include "assay/error.h"
#include "store/decision_record.h"

namespace assay::store {

// A JSON object without a line end. Where texts are kept it has "request", a body of POST /v1/decide that asks the
// same again, and where there is a receipt "receipt": together a line that `assay verify` reads. Errors: kIo when a
// text of the record is no UTF-8, which no wire lets in.
Result<std::string> decision_line(const DecisionRecord& record);

// "2026-11-30T12:00:00.123Z"
std::string utc_text(std::int64_t unix_ms);

}  // namespace assay::store
