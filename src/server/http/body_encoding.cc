#include "server/http/body_encoding.h"

#define ZLIB_CONST  // zlib's own switch: its input is const
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "server/http/ascii.h"

namespace assay::server {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr int kZlib = MAX_WBITS;
constexpr int kGzip = MAX_WBITS + 16;  // zlib's own way to say it
constexpr int kZstdWindowLogMax = 25;  // 32 MiB: bounds what a frame can make us set aside

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

Error broken(std::string_view coding) {
  return invalid_argument("", "the body is not what its Content-Encoding says (" + std::string(coding) + ")");
}

Error too_long(std::size_t bytes_max) {
  return {ErrorCode::kTooLong, "the body has more than " + std::to_string(bytes_max) + " bytes when taken apart", ""};
}

struct EndInflate {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};

// A body of gzip may have several members, one behind the other (RFC 1952, 2.2); one of deflate is one stream.
Result<std::string> inflate_body(const std::string& body, std::size_t bytes_max) {
  const bool is_gzip = body.starts_with('\x1F');  // the other has the method 8 in its first byte's lower half
  std::unique_ptr<z_stream, EndInflate> stream(new z_stream{});
  if (inflateInit2(stream.get(), is_gzip ? kGzip : kZlib) != Z_OK)
    return Error{ErrorCode::kOutOfMemory, "memory ran out while a body was taken apart", ""};
  stream->next_in = reinterpret_cast<const Bytef*>(body.data());
  stream->avail_in = static_cast<uInt>(body.size());
  std::string out;
  std::array<char, kPieceBytes> piece;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    stream->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream->avail_out = static_cast<uInt>(piece.size());
    state = inflate(stream.get(), Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) return broken("gzip or deflate");
    out.append(piece.data(), piece.size() - stream->avail_out);
    if (out.size() > bytes_max) return too_long(bytes_max);
    if (state == Z_OK && stream->avail_in == 0 && stream->avail_out != 0) return broken("gzip or deflate");
    const bool goes_on = is_gzip && state == Z_STREAM_END && stream->avail_in > 0;
    if (goes_on) state = inflateReset(stream.get());
  }
  if (stream->avail_in > 0) return broken("gzip or deflate");
  return out;
}

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

Result<std::string> unzstd_body(const std::string& body, std::size_t bytes_max) {
  const std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
  if (!context) return Error{ErrorCode::kOutOfMemory, "memory ran out while a body was taken apart", ""};
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax);
  ZSTD_inBuffer in = {body.data(), body.size(), 0};
  std::string out;
  std::array<char, kPieceBytes> piece;
  std::size_t left = 1;  // 0 at the end of a frame
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer to = {piece.data(), piece.size(), 0};
    const std::size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(left) != 0) return broken("zstd");
    out.append(piece.data(), to.pos);
    if (out.size() > bytes_max) return too_long(bytes_max);
    if (left != 0 && to.pos == 0 && in.pos == before) return broken("zstd");  // cut short
  }
  return out;
}

}  // namespace

const char* body_encodings() { return "gzip, deflate, zstd"; }

bool is_known_encoding(std::string_view coding) {
  const std::string name = lower(coding);
  for (const char* known : {"", "identity", "gzip", "x-gzip", "deflate", "zstd"}) {
    if (name == known) return true;
  }
  return false;
}

Result<std::string> decode_body(std::string_view coding, const std::string& body, std::size_t bytes_max) {
  const std::string name = lower(coding);
  if (!is_known_encoding(name))
    return Error{ErrorCode::kMediaType,
                 "a body with this Content-Encoding is not taken; it may be " + std::string(body_encodings()), ""};
  if (name.empty() || name == "identity") return body;
  return name == "zstd" ? unzstd_body(body, bytes_max) : inflate_body(body, bytes_max);
}

}  // namespace assay::server
