#pragma once
// GBNF, as far as it lists literals.

#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"

namespace assay::server {

// The literals of a grammar that is one rule, root ::= "a" | "b", in its order; parentheses around the whole and
// comments are allowed, as are GBNF's escapes (\" \\ \n \r \t \[ \] \xHH \uHHHH \UHHHHHHHH). Anything else, a literal
// that is not UTF-8 and a text above 1 MiB are errors with an empty field.
Result<std::vector<std::string>> read_choice_grammar(std::string_view grammar);

}  // namespace assay::server
