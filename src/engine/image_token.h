#pragma once
// The place of an image among a prompt's tokens. No vocabulary has these ids, and LLAMA_TOKEN_NULL is none of them;
// only media jobs (media.h) take them.

#include <cstddef>

#include "engine/token_tree.h"

namespace assay::engine {

inline constexpr TokenId kFirstImageToken = -2;

constexpr TokenId image_token(std::size_t image) { return kFirstImageToken - static_cast<TokenId>(image); }
constexpr bool is_image_token(TokenId token) { return token <= kFirstImageToken; }
// REQUIRES: is_image_token(token).
constexpr std::size_t image_of_token(TokenId token) { return static_cast<std::size_t>(kFirstImageToken - token); }

}  // namespace assay::engine
