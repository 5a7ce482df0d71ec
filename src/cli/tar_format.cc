// A ustar header is one block of 512 bytes of text fields:
//
//   0 name 100   100 mode 8   108 uid 8   116 gid 8   124 size 12   136 mtime 12   148 checksum 8   156 type 1
//   157 link 100   257 "ustar\0" "00"   345 prefix 155
//
// Numbers are octal. The checksum is the sum of all bytes, its own field taken as eight spaces.
#include "cli/tar_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <string_view>

namespace assay::cli {
namespace {

constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeBytes = 12;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;
constexpr std::uint64_t kOctalSizeEnd = std::uint64_t{1} << 33;  // eleven octal digits: below 8 GiB
constexpr std::uint64_t kPaxBytesMax = 1 << 20;

Error broken(const std::string& what) { return {ErrorCode::kIo, "the archive is broken: " + what, ""}; }

// `width` octal digits.
std::string octal(std::uint64_t number, std::size_t width) {
  std::string out(width, '0');
  for (std::size_t i = width; i > 0; --i, number >>= 3) out[i - 1] = static_cast<char>('0' + (number & 7));
  return out;
}

std::uint64_t checksum(const char* block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) {
    const bool own = i >= kChecksumAt && i < kChecksumAt + kChecksumBytes;
    sum += own ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string header_block(std::string_view name, std::uint64_t bytes, char type) {
  std::string block(kTarBlockBytes, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0, name.substr(0, kNameBytes));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(kSizeAt, octal(bytes < kOctalSizeEnd ? bytes : 0, kSizeBytes - 1));
  put(136, octal(0, 11));
  block[kTypeAt] = type;
  put(257, std::string_view("ustar\00000", 8));
  put(329, "0000000");  // device numbers
  put(337, "0000000");
  put(kChecksumAt, octal(checksum(block.data()), 6));
  block[kChecksumAt + 7] = ' ';
  return block;
}

// "23 path=a/long/name\n": the number counts the whole record, its own digits too.
std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size();
  while (length != rest.size() + std::to_string(length).size()) length = rest.size() + std::to_string(length).size();
  return std::to_string(length) + rest;
}

std::string_view text_field(const char* block, std::size_t at, std::size_t width) {
  const char* const begin = block + at;
  return {begin, static_cast<std::size_t>(std::find(begin, begin + width, '\0') - begin)};
}

// An octal field, or GNU tar's form for large numbers: the first bit set, the rest big-endian.
std::optional<std::uint64_t> number_field(const char* block, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  if ((static_cast<unsigned char>(block[at]) & 0x80) != 0) {
    for (std::size_t i = at + 1; i < at + width; ++i) {
      if (number >> 55 != 0) return std::nullopt;
      number = number << 8 | static_cast<unsigned char>(block[i]);
    }
    return number;
  }
  std::string_view text(block + at, width);
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (failure != std::errc() || (end != text.data() + text.size() && *end != ' ' && *end != '\0')) return std::nullopt;
  return number;
}

// "./a//b" is "a/b". Nothing for a name that leads elsewhere.
std::optional<std::string> plain_name(std::string_view name) {
  if (name.starts_with('/')) return std::nullopt;
  std::string out;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

std::uint64_t padding_bytes(std::uint64_t bytes) { return (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes; }

}  // namespace

std::string tar_header(const TarEntry& entry) {
  std::string records;
  if (entry.name.size() > kNameBytes) records += pax_record("path", entry.name);
  if (entry.bytes >= kOctalSizeEnd) records += pax_record("size", std::to_string(entry.bytes));
  std::string out;
  if (!records.empty()) {
    out = header_block("pax", records.size(), 'x') + records + tar_padding(records.size());
  }
  return out + header_block(entry.name, entry.bytes, '0');
}

std::string tar_padding(std::uint64_t bytes) { return std::string(padding_bytes(bytes), '\0'); }

std::string tar_end() { return std::string(2 * kTarBlockBytes, '\0'); }

Result<bool> TarReader::read_block(Block& block) {
  std::size_t have = 0;
  while (have < block.size()) {
    const Result<std::size_t> got = read_(block.data() + have, block.size() - have);
    if (!got.ok()) return got.error();
    if (*got == 0) break;
    have += *got;
  }
  if (have != 0 && have != block.size()) return broken("it ends inside a block");
  return have != 0;
}

Result<std::size_t> TarReader::read(char* bytes, std::size_t size) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  if (wanted == 0) return std::size_t{0};
  Result<std::size_t> got = read_(bytes, wanted);
  if (!got.ok()) return got.error();
  if (*got == 0) return broken("it ends inside a file");
  left_ -= *got;
  return got;
}

Status TarReader::skip_entry() {
  left_ += padding_;
  padding_ = 0;
  Block rest;
  while (left_ > 0) {
    const Result<std::size_t> got = read(rest.data(), rest.size());
    if (!got.ok()) return got.error();
  }
  return Status();
}

Result<std::string> TarReader::read_all_of_entry(std::uint64_t bytes_max) {
  if (left_ > bytes_max) return broken("a header of " + std::to_string(left_) + " bytes");
  std::string out(static_cast<std::size_t>(left_), '\0');
  for (std::size_t have = 0; have < out.size();) {
    const Result<std::size_t> got = read(out.data() + have, out.size() - have);
    if (!got.ok()) return got.error();
    have += *got;
  }
  return out;
}

Status TarReader::take_pax(const std::string& records) {
  std::string_view rest = records;
  while (!rest.empty()) {
    std::size_t length = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (failure != std::errc() || length > rest.size() || length < digits + 4) return broken("a pax record's length");
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    if (rest[digits] != ' ' || rest[length - 1] != '\n') return broken("a pax record");
    rest.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return broken("a pax record without '='");
    const std::string_view value = record.substr(equals + 1);
    if (record.substr(0, equals) == "path") pax_name_ = std::string(value);
    if (record.substr(0, equals) == "size") {
      std::uint64_t bytes = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), bytes);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return broken("a pax size");
      pax_bytes_ = bytes;
    }
  }
  return Status();
}

Result<TarEntry> TarReader::regular_file(const Block& block) {
  std::string name(text_field(block.data(), 0, kNameBytes));
  // GNU tar's own format keeps other things where ustar has its prefix.
  const bool is_ustar = std::memcmp(block.data() + 257, "ustar\0", 6) == 0;
  const std::string_view prefix = is_ustar ? text_field(block.data(), kPrefixAt, kPrefixBytes) : "";
  if (!prefix.empty()) name = std::string(prefix) + "/" + name;
  if (pax_name_) name = *pax_name_;
  const std::optional<std::string> plain = plain_name(name);
  if (!plain || plain->empty()) return broken("the name '" + name + "' leads out of the folder");
  TarEntry entry{.name = *plain, .bytes = left_};
  pax_name_.reset();
  pax_bytes_.reset();
  return entry;
}

Result<std::optional<TarEntry>> TarReader::next() {
  for (;;) {
    if (const Status skipped = skip_entry(); !skipped.ok()) return skipped.error();
    Block block;
    const Result<bool> there = read_block(block);
    if (!there.ok()) return there.error();
    if (!*there) return broken("it ends without its end mark");
    if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) return std::optional<TarEntry>();
    if (number_field(block.data(), kChecksumAt, kChecksumBytes) != checksum(block.data()))
      return broken("a header's checksum is wrong");
    const char type = block[kTypeAt];
    const std::optional<std::uint64_t> bytes = number_field(block.data(), kSizeAt, kSizeBytes);
    if (!bytes) return broken("a size is no number");
    const bool is_header = type == 'x' || type == 'g';
    left_ = !is_header && pax_bytes_ ? *pax_bytes_ : *bytes;
    padding_ = padding_bytes(left_);
    if (left_ > UINT64_MAX / 2) return broken("a size of " + std::to_string(left_) + " bytes");
    if (type == '0' || type == '\0') {
      Result<TarEntry> entry = regular_file(block);
      if (!entry.ok()) return entry.error();
      return std::optional<TarEntry>(std::move(*entry));
    }
    if (type == 'x') {
      const Result<std::string> records = read_all_of_entry(kPaxBytesMax);
      if (!records.ok()) return records.error();
      if (const Status taken = take_pax(*records); !taken.ok()) return taken.error();
    } else if (type != 'g' && type != '5') {
      return broken("'" + std::string(text_field(block.data(), 0, kNameBytes)) +
                    "' is no regular file but of tar's type '" + std::string(1, type) +
                    "' (1 and 2 are links, which SageMaker refuses)");
    } else {
      pax_name_.reset();
      pax_bytes_.reset();
    }
  }
}

}  // namespace assay::cli
