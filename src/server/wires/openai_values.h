#pragma once
// Options that are JSON values: a string and a boolean with the same text are two options.

#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"

namespace assay::server {

// A value that the caller declared, as it comes back in the reply, and what it means.
struct DeclaredValue {
  Value value;
  std::optional<std::string> description;
};

// One option for each value, in order, with unique ids that the model can read where there is no description: a string
// is its own id, any other value's is its JSON text; a string that reads as another value does is put into quotes.
// Errors, with the field "[i]": an empty string, or a value that was declared before.
Result<std::vector<Option>> options_of_values(const std::vector<DeclaredValue>& values);

// Two booleans, in any order.
bool are_true_and_false(const std::vector<DeclaredValue>& values);

}  // namespace assay::server
