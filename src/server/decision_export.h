#pragma once
// Kept decisions as lines of JSON: GET /v1/decisions/export?after=PLACE&limit=N&labelled=true (docs/decisions.md).

#include "assay/error.h"
#include "assay/lesson_desk.h"
#include "server/http/http_message.h"

namespace assay::server {

// From the query: `after`, the "place" of the last line that the caller has; `limit`, so many lines at most;
// `labelled`, true or false. Errors: kInvalidArgument with the name as field, also for another name.
Result<ExportQuery> read_export_query(const HttpRequest& request);

// A reply whose body comes as the lines are read, a few decisions in memory at a time. What goes wrong behind the first
// line is told in the last one: {"error", "code"}. `desk`: nullptr where lessons are off. Errors: what the desk says
// before the first line; kNotFound without a desk.
Result<HttpReply> export_reply(const LessonDesk* desk, const ExportQuery& query);

}  // namespace assay::server
