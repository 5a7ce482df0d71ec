#include "cli/gzip_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace assay::cli {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr int kGzip = MAX_WBITS + 16;  // zlib's own way to say: gzip's header and trailer
constexpr unsigned char kUnknownSystem = 255;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

Error io_error(const std::string& doing, const std::string& path) {
  return {ErrorCode::kIo, "cannot " + doing + " '" + path + "': " + std::strerror(errno), ""};
}

Error damaged(const std::string& path, const std::string& why) {
  return {ErrorCode::kIo, "'" + path + "' is damaged or no gzip file: " + why, ""};
}

}  // namespace

struct GzipWriter::State {
  State(std::string name, int number) : path(std::move(name)), file(number) {}
  ~State() {
    if (began) deflateEnd(&stream);
  }

  // Compresses what stream.next_in holds and writes what comes out.
  Status pump(int flush) {
    int outcome = Z_OK;
    do {
      stream.next_out = piece.data();
      stream.avail_out = static_cast<uInt>(piece.size());
      outcome = deflate(&stream, flush);
      const std::size_t ready = piece.size() - stream.avail_out;
      for (std::size_t done = 0; done < ready;) {
        const ssize_t wrote = ::write(file.number(), piece.data() + done, ready - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return io_error("write", path);
        done += static_cast<std::size_t>(wrote);
      }
    } while (stream.avail_out == 0 || (flush == Z_FINISH && outcome == Z_OK));
    return Status();
  }

  const std::string path;
  const Descriptor file;
  z_stream stream{};
  bool began = false;
  gz_header header{};
  std::array<Bytef, kPieceBytes> piece;
};

GzipWriter::GzipWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipWriter::~GzipWriter() = default;

Result<std::unique_ptr<GzipWriter>> GzipWriter::create(const std::string& path, int level) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (number < 0) return io_error("create", path);
  auto state = std::make_unique<State>(path, number);
  if (deflateInit2(&state->stream, level, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return Error{ErrorCode::kOutOfMemory, "memory ran out before '" + path + "' was written", ""};
  state->began = true;
  state->header.os = kUnknownSystem;
  deflateSetHeader(&state->stream, &state->header);
  return std::unique_ptr<GzipWriter>(new GzipWriter(std::move(state)));
}

Status GzipWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, 1 << 30);  // zlib counts in 32 bits
    bytes.remove_prefix(piece.size());
    // zlib's interface is not const.
    state_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    state_->stream.avail_in = static_cast<uInt>(piece.size());
    if (const Status status = state_->pump(Z_NO_FLUSH); !status.ok()) return status;
  }
  return Status();
}

Status GzipWriter::finish() {
  state_->stream.next_in = nullptr;
  state_->stream.avail_in = 0;
  if (const Status status = state_->pump(Z_FINISH); !status.ok()) return status;
  // EINVAL: not a file on a disk, such as /dev/null.
  if (fsync(state_->file.number()) != 0 && errno != EINVAL) return io_error("write", state_->path);
  return Status();
}

struct GzipReader::State {
  State(std::string name, int number) : path(std::move(name)), file(number) {}
  ~State() {
    if (began) inflateEnd(&stream);
  }

  // Fetches compressed bytes when none are left. False at the end of the file.
  Result<bool> fetch() {
    if (stream.avail_in > 0) return true;
    ssize_t got = 0;
    do {
      got = ::read(file.number(), piece.data(), piece.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return io_error("read", path);
    stream.next_in = piece.data();
    stream.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  const std::string path;
  const Descriptor file;
  z_stream stream{};
  bool began = false;
  bool between_streams = false;
  std::array<Bytef, kPieceBytes> piece;
};

GzipReader::GzipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipReader::~GzipReader() = default;

Result<std::unique_ptr<GzipReader>> GzipReader::open(const std::string& path) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    Error error = io_error("read", path);
    error.code = ErrorCode::kNotFound;
    return error;
  }
  auto state = std::make_unique<State>(path, number);
  if (inflateInit2(&state->stream, kGzip) != Z_OK)
    return Error{ErrorCode::kOutOfMemory, "memory ran out before '" + path + "' was read", ""};
  state->began = true;
  return std::unique_ptr<GzipReader>(new GzipReader(std::move(state)));
}

Result<std::size_t> GzipReader::read(char* bytes, std::size_t size) {
  z_stream& stream = state_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(bytes);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1 << 30));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted && wanted > 0) {
    const Result<bool> more = state_->fetch();
    if (!more.ok()) return more.error();
    if (!*more) {
      if (state_->between_streams) return std::size_t{0};
      return damaged(state_->path, "it ends too early");
    }
    if (state_->between_streams) inflateReset(&stream);
    state_->between_streams = false;
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) {
      state_->between_streams = true;
    } else if (outcome != Z_OK) {
      return damaged(state_->path, stream.msg != nullptr ? stream.msg : "its bytes make no sense");
    }
  }
  return static_cast<std::size_t>(wanted - stream.avail_out);
}

}  // namespace assay::cli
