#include "cli/streams.h"

#include <ostream>

namespace assay::cli {

int report_error(std::ostream& err, const Error& error) {
  err << "assay: " << error.message;
  const bool field_is_told = error.field.empty() || error.message.find(error.field) != std::string::npos;
  if (!field_is_told) err << " (" << error.field << ")";
  err << "\n" << std::flush;
  return exit_code(error.code);
}

}  // namespace assay::cli
