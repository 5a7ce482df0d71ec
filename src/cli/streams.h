#pragma once
// What a command is handed: where it reads and writes, and how it gets a model. Tests hand in strings and a fake.

#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>

#include "assay/decider.h"
#include "base/clock.h"

namespace assay::cli {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colours = false;  // out is a terminal and NO_COLOR is not set
};

// Loads a model. Commands call it once, after everything that can be checked without a model is checked.
using OpenDecider = std::function<Result<std::unique_ptr<Decider>>(DeciderOptions)>;

// What long commands look at between two rows. `stop` turns true when the user asked for an end (Ctrl-C).
struct RunContext {
  const Clock& clock;
  const std::atomic<bool>& stop;
};

// Exit codes that are not a map of one error (assay/error.h has that map).
constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSomeRowsFailed = 3;
constexpr int kExitInterrupted = 130;

// Writes "assay: <message>" (and the field, when there is one) and answers the error's exit code.
int report_error(std::ostream& err, const Error& error);

}  // namespace assay::cli
