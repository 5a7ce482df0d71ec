#pragma once
// Log lines on stderr: time, level, text. Thread-safe.

#include <string_view>

namespace assay {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

// Lines below this level are not written. Default: kInfo.
void set_log_level(LogLevel level);
void log_line(LogLevel level, std::string_view text);

}  // namespace assay
