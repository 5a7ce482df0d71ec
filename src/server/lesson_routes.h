#pragma once
// What a lesson desk does, over HTTP (docs/http.md):
//
//   POST   /v1/feedback                  somebody's word on a decision, or a list of them
//   GET    /v1/decisions/export          kept decisions as lines (decision_export.h)
//   GET    /v1/decisions/{id}            a kept decision, as an export has it
//   DELETE /v1/decisions/{id}            forgets it
//   GET    /v1/lessons                   what lessons there are
//   POST   /v1/lessons                   imports one; ?shadow=true
//   GET    /v1/lessons/{name}            exports one; ?version=N
//   POST   /v1/lessons/{name}/fit        a new version from what was stored
//   POST   /v1/lessons/{name}/activate   {"version": N}: an earlier or later version
//   POST   /v1/lessons/{name}/promote    the shadow becomes active
//   DELETE /v1/lessons/{name}/shadow     no shadow any more
//   GET    /v1/lessons/{name}/health     confidence and agreement now and then
//
// Errors are in SemIf's form (error_body()).

#include <string>

#include "assay/error.h"
#include "assay/lesson_desk.h"
#include "server/http/http_message.h"
#include "server/route_table.h"

namespace assay::server {

// What is said where lessons are off.
Error no_lessons();

// The reply's body, JSON. `desk`: nullptr where lessons are off; then every route is kNotFound and says how they are
// turned on. Bodies are strict: a key that is not known, a wrong type or a value out of range is kInvalidArgument, a
// text above its limit kTooLong; the field is the path in the body. Blocks while the desk does what was asked for.
// Thread-safe as the desk is. REQUIRES: a route of kind kLessons that takes the request's method.
Result<std::string> answer_lessons(LessonDesk* desk, const Route& route, const HttpRequest& request);

}  // namespace assay::server
