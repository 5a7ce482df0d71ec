// Receipts are kept and compared later, by other builds too: a changed byte form needs a new name beside the hash.

#include "service/receipt.h"

#include <bit>
#include <cstddef>

#include "base/assert.h"
#include "base/sha256.h"

namespace assay::service {
namespace {

void append_little_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) out += static_cast<char>((number >> (8 * i)) & 0xFFU);
}

void append_u32(std::string& out, std::uint32_t number) { append_little_endian(out, number, 4); }
void append_u64(std::string& out, std::uint64_t number) { append_little_endian(out, number, 8); }

}  // namespace

std::string tokens_sha256(std::span<const TokenList> tokens) {
  std::string bytes;
  append_u64(bytes, tokens.size());
  for (const TokenList& list : tokens) {
    append_u64(bytes, list.size());
    for (const std::int32_t token : list) append_u32(bytes, static_cast<std::uint32_t>(token));
  }
  return sha256_hex(bytes);
}

std::string scores_sha256(std::span<const Answer> answers) {
  std::string bytes;
  append_u64(bytes, answers.size());
  for (const Answer& answer : answers) {
    append_u64(bytes, answer.options.size());
    for (const OptionAnswer& option : answer.options) append_u64(bytes, std::bit_cast<std::uint64_t>(option.score));
  }
  return sha256_hex(bytes);
}

std::string images_sha256(std::span<const Image> images) {
  std::string text;
  for (const Image& image : images) text += sha256_hex(*image.file) + "\n";
  return sha256_hex(text);
}

std::string settings_sha256(const std::map<std::string, std::string>& settings) {
  std::string text;
  for (const auto& [key, value] : settings) {
    ASSAY_ASSERT(key.find_first_of("=\n") == std::string::npos && value.find('\n') == std::string::npos);
    text += key;
    text += '=';
    text += value;
    text += '\n';
  }
  return sha256_hex(text);
}

Receipt make_receipt(const ReceiptParts& parts) {
  return Receipt{.model = parts.model_sha256,
                 .build = sha256_hex(parts.build),
                 .settings = settings_sha256(parts.settings),
                 .tokens = tokens_sha256(parts.tokens),
                 .scores = scores_sha256(parts.answers)};
}

}  // namespace assay::service
