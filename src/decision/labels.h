#pragma once
// The codes that stand for options in the letters prompt.

#include <span>
#include <string>

namespace assay::decision {

// "A" to "Z", then "AA", "AB", ... "ZZ": 702 codes, always in this order. Which of them a model can answer with one
// token is a question for its vocabulary. The strings live as long as the program.
std::span<const std::string> label_codes();

}  // namespace assay::decision
