#include "cli/pack_command.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <ostream>
#include <utility>

#include "base/sha256.h"
#include "cli/gzip_file.h"
#include "cli/pack_files.h"
#include "cli/pack_manifest.h"
#include "cli/pack_verify.h"
#include "cli/tar_format.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Example:\n"
    "  assay pack model.gguf -o model.tar.gz --snapshots snapshots/\n"
    "  assay pack --verify model.tar.gz";
constexpr const char* kEnding = ".tar.gz";
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

Error stopped() { return {ErrorCode::kCancelled, "stopped", ""}; }

// Hands a file's bytes on in pieces. `take` answers a Status.
template <typename Take>
Status read_pieces(const std::string& path, const std::atomic<bool>& stop, const Take& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, "'" + path + "' cannot be read", ""};
  std::string piece(kPieceBytes, '\0');
  while (file) {
    if (stop) return stopped();
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    if (const Status status = take(std::string_view(piece).substr(0, got)); !status.ok()) return status;
  }
  if (file.bad()) return Error{ErrorCode::kIo, "'" + path + "' cannot be read to its end", ""};
  return Status();
}

Result<Manifest> manifest_of(const PackList& list, const std::atomic<bool>& stop) {
  Manifest manifest{.assay = ASSAY_VERSION, .model = list.model, .files = {}};
  for (const PackFile& file : list.files) {
    Sha256 sum;
    const Status read = read_pieces(file.path, stop, [&sum](std::string_view bytes) {
      sum.update(bytes);
      return Status();
    });
    if (!read.ok()) return read.error();
    manifest.files.push_back({.name = file.name, .bytes = file.bytes, .sha256 = sum.hex()});
  }
  return manifest;
}

// A file that changes between the hash and the copy would make an archive that contradicts its manifest.
Status write_file(const PackFile& file, const ManifestFile& said, GzipWriter& out, const std::atomic<bool>& stop) {
  const Error changed{ErrorCode::kIo, "'" + file.path + "' changed while it was packed", ""};
  if (const Status status = out.write(tar_header({.name = file.name, .bytes = file.bytes})); !status.ok())
    return status;
  Sha256 sum;
  std::uint64_t written = 0;
  Status read = read_pieces(file.path, stop, [&](std::string_view bytes) -> Status {
    written += bytes.size();
    if (written > file.bytes) return changed;
    sum.update(bytes);
    return out.write(bytes);
  });
  if (!read.ok()) return read;
  if (written != file.bytes || sum.hex() != said.sha256) return changed;
  return out.write(tar_padding(file.bytes));
}

Status write_archive(const PackList& list, const Manifest& manifest, GzipWriter& out, const std::atomic<bool>& stop) {
  const std::string text = manifest_text(manifest);
  const std::string first = tar_header({.name = kManifestName, .bytes = text.size()}) + text + tar_padding(text.size());
  if (const Status status = out.write(first); !status.ok()) return status;
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    if (const Status status = write_file(list.files[i], manifest.files[i], out, stop); !status.ok()) return status;
  }
  if (const Status status = out.write(tar_end()); !status.ok()) return status;
  return out.finish();
}

// Written beside its place and renamed into it.
Result<Manifest> pack(const PackFlags& flags, const PackList& list, const std::atomic<bool>& stop) {
  Result<Manifest> manifest = manifest_of(list, stop);
  if (!manifest.ok()) return manifest.error();
  const std::string unfinished = flags.output + ".unfinished";
  Status status;
  {
    const Result<std::unique_ptr<GzipWriter>> out = GzipWriter::create(unfinished, flags.compression);
    if (!out.ok()) return out.error();
    status = write_archive(list, *manifest, **out, stop);
  }
  if (status.ok() && std::rename(unfinished.c_str(), flags.output.c_str()) != 0)
    status = Error{ErrorCode::kIo, "'" + flags.output + "' cannot be put in its place", "--output"};
  if (status.ok()) return manifest;
  std::remove(unfinished.c_str());
  return status.error();
}

int report_end(const Error& error, Streams& streams) {
  if (error.code == ErrorCode::kCancelled) return kExitInterrupted;
  return report_error(streams.err, error);
}

int run_verify_pack(const PackFlags& flags, Streams& streams, const RunContext& context) {
  const Result<PackVerdict> verdict = verify_pack(flags.verify, context.stop);
  if (!verdict.ok()) return report_end(verdict.error(), streams);
  for (const std::string& finding : verdict->findings) streams.err << "assay: " << one_line(finding, 400) << "\n";
  if (!verdict->findings.empty()) return kExitFailed;
  streams.out << "pack: " << verdict->manifest.files.size() << " files as the manifest says, model "
              << verdict->manifest.model << ", packed by assay " << verdict->manifest.assay << "\n"
              << std::flush;
  return kExitOk;
}

Status check_flags(const PackFlags& flags) {
  const bool packs = !flags.model.empty() || !flags.output.empty() || !flags.snapshots.empty() || !flags.others.empty();
  if (!flags.verify.empty())
    return packs ? Status(invalid_argument("--verify", "--verify checks an archive and takes no other flag"))
                 : Status();
  if (flags.model.empty()) return invalid_argument("MODEL", "name the GGUF to pack, or an archive with --verify");
  if (flags.output.empty()) return invalid_argument("--output", "name the archive with -o, such as -o model.tar.gz");
  if (!flags.output.ends_with(kEnding))
    return invalid_argument("--output", "'" + flags.output + "' does not end in .tar.gz, which SageMaker asks for");
  return Status();
}

}  // namespace

CommandSpec pack_command(PackFlags& flags) {
  CommandSpec spec{.name = "pack",
                   .summary = "Pack a model into a SageMaker archive, or check one",
                   .examples = kExamples,
                   .options = {}};
  spec.options.push_back(as_request_only(
      as_file(as_positional(text_option("MODEL", "", "The GGUF; of several shards any one", &flags.model)))));
  spec.options.push_back(as_request_only(as_file(
      with_short_name(text_option("output", "FILE", "Where the archive goes: NAME.tar.gz", &flags.output), "o"))));
  spec.options.push_back(as_request_only(
      as_folder(text_option("snapshots", "DIR", "Prefixes that `assay warm` computed go in too", &flags.snapshots))));
  spec.options.push_back(as_request_only(
      as_file(list_option("with", "FILE", "One more file beside the model, such as a projector", &flags.others))));
  spec.options.push_back(as_request_only(
      number_option("compression", "N", "gzip's level: 0 stores, 9 is small and slow", &flags.compression, 0, 9)));
  spec.options.push_back(as_request_only(
      as_file(text_option("verify", "FILE", "Check this archive against its own manifest", &flags.verify))));
  return spec;
}

int run_pack(const PackFlags& flags, Streams& streams, const RunContext& context) {
  if (const Status status = check_flags(flags); !status.ok()) return report_error(streams.err, status.error());
  if (!flags.verify.empty()) return run_verify_pack(flags, streams, context);
  const Result<PackList> list = pack_list({.model = flags.model, .snapshots = flags.snapshots, .others = flags.others});
  if (!list.ok()) return report_error(streams.err, list.error());
  const Result<Manifest> manifest = pack(flags, *list, context.stop);
  if (!manifest.ok()) return report_end(manifest.error(), streams);
  const std::string sha256 = sha256_hex_of_file(flags.output);
  if (sha256.empty())
    return report_error(streams.err, {ErrorCode::kIo, "'" + flags.output + "' cannot be read again", "--output"});
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : manifest->files) bytes += file.bytes;
  streams.out << "pack: " << manifest->files.size() << " files, " << byte_size(static_cast<double>(bytes)) << ", in "
              << flags.output << "\nsha256 " << sha256 << "\n"
              << std::flush;
  return kExitOk;
}

}  // namespace assay::cli
