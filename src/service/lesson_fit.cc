#include "service/lesson_office.h"
namespace assay::service {
Result<Value> LessonOffice::fit(const std::string&, const FitOptions&) { return invalid_argument("x", "not yet"); }
}  // namespace assay::service
