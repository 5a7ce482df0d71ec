#pragma once
// A receipt: five hashes that say what an answer was computed from and what came out. Pure functions over values, so
// that two processes get the same receipt for the same thing; docs/readouts.md shows the byte forms to users.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "assay/decision.h"

namespace assay::service {

using TokenList = std::vector<std::int32_t>;

// What a receipt is made of.
struct ReceiptParts {
  std::string model_sha256;                     // of the model file, as it stands in ModelReport::sha256
  std::string build;                            // any text: the version, llama.cpp's and the CPU code in use
  std::map<std::string, std::string> settings;  // what moves bits; a text of several lines goes in as its SHA-256
  std::span<const TokenList> tokens;            // each prompt and each option's words, in the order of the request
  std::span<const Answer> answers;
};

// REQUIRES: no key or value of the settings has a line break, no key has '='.
Receipt make_receipt(const ReceiptParts& parts);

// SHA-256 in lower-case hex of these bytes, all numbers little-endian:
//   the number of lists (8 bytes), then for each list its length (8 bytes) and its token ids (4 bytes each).
std::string tokens_sha256(std::span<const TokenList> tokens);

// SHA-256 in lower-case hex of these bytes, all numbers little-endian:
//   the number of answers (8 bytes), then for each answer its number of options (8 bytes) and the IEEE-754 bits of each
//   option's score (8 bytes each).
std::string scores_sha256(std::span<const Answer> answers);

// SHA-256 in lower-case hex of each image file's SHA-256 (lower-case hex) with a line break behind it, in order. Their
// names are in the prompt.
std::string images_sha256(std::span<const Image> images);

// SHA-256 in lower-case hex of "key=value\n" for each setting, sorted by the keys' bytes.
// REQUIRES: as make_receipt().
std::string settings_sha256(const std::map<std::string, std::string>& settings);

}  // namespace assay::service
