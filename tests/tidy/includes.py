"""Which file may include what. The tables are the rule; docs/architecture.md draws them."""

import re

from source import blank, line_of

# Rooms that a room may include, beside the standard library. "assay" is the door, include/assay.
ROOMS = {
    "assay": {"assay"},
    "base": {"assay/error.h", "base"},
    "decision": {"assay", "base", "decision"},
    "engine": {"assay/build.h", "assay/engine_stats.h", "assay/options.h", "assay/error.h", "base", "engine",
               "kernels"},
    "kernels": {"assay/error.h", "base", "kernels"},
    "teach": {"assay", "base", "decision", "teach"},
    "store": {"assay", "base", "store"},
    "service": {"assay", "base", "decision", "engine", "service", "store", "teach"},
    "server": {"assay", "base", "server"},
    "cli": {"assay", "base", "server", "cli"},
}
# Programs and tests that cross rooms.
FREE_FOLDERS = ("bench/", "tests/")
# The one file that joins all the parts.
JOINT = "src/cli/main.cc"

# Third parties: how their headers are spelt, and the files that may include them.
THIRD_PARTIES = {
    "llama.cpp": (r"(llama|llama-cpp|gguf|chat|common|preset|sampling|arg|log|speculative|ngram-\w+|fit)\.h|ggml[\w-]*\.h"
                  r"|mtmd[\w-]*\.h|server-[\w-]+\.h|(jinja|llama\.cpp)/.*",
                  (r"src/engine/llama_\w+\.cc", r"src/server/llama/llama_\w+\.cc", r"src/kernels/ggml_\w+\.cc",
                   r"src/kernels/testing/ggml_\w+\.h", r"bench/.*")),
    "cpp-httplib": (r"cpp-httplib/.*", (r"src/server/http/http_(server|protocol)\.cc",)),
    "zlib or zstd": (r"(zlib|zstd)\.h", (r"src/server/http/(body_encoding|event_stream)(_test)?\.cc",
                                         r"src/cli/gzip_file\.cc")),
    "OpenSSL": (r"openssl/.*", (r"src/server/http/tls\.cc", r"src/base/sha256\.cc")),
    # Classes of llama.cpp's own source folder, for the one file that wraps its memory.
    "llama.cpp's memory": (r"llama-(context|io|kv-cache|kv-cache-iswa|memory-[a-z-]+)\.h",
                           (r"src/engine/llama_placement\.cc",)),
    "nlohmann": (r"nlohmann/.*", (r"src/server/wires/wire\w*\.cc", r"src/\w+/\w+_file(_test|_fuzz)?\.cc",
                                  r"src/engine/llama_\w+\.cc", r"bench/.*", r"tests/.*")),
    "Eigen": (r"Eigen/.*", (r"src/teach/.*\.cc",)),
    "base64": (r"base64\.hpp", (r"src/base/base64\.cc",)),
    "stb": (r"stb/.*", (r"src/engine/llama_images\.cc",)),
    "SQLite": (r"sqlite3\.h", (r"src/store/\w+\.cc",)),
    "hash": (r"hash/.*", (r"src/base/(sha256|xxh3)\.cc",)),
    "spdlog or fmt": (r"(spdlog|fmt)/.*", (r"src/base/log\.cc",)),
    "CLI11": (r"CLI/.*", (r"src/cli/.*",)),
    "GoogleTest": (r"(gtest|gmock)/.*", (r".*_test\.cc", r"src/\w+/testing/.*", r"tests/.*")),
    "Google Benchmark": (r"benchmark/.*", (r".*_bench\.cc", r"bench/.*")),
}

_SYSTEM = re.compile(r"[a-z_]+|(sys|linux|netinet|arpa|asm)/[\w.]+|(unistd|fcntl|signal|poll|pthread|sched|dlfcn|termios|"
                     r"errno|netdb|dirent|spawn|getopt|syslog|ifaddrs|pwd|glob|immintrin|arm_neon|cpuid|cxxabi|execinfo|malloc|"
                     r"time|stdint|stddef|string)\.h")
_STANDARD = re.compile(r"[a-z_0-9]+")
# decision/ and teach/ have no thread, clock, log or file.
_IMPURE = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "chrono", "ctime", "fstream",
           "filesystem", "iostream", "cstdio", "semaphore", "latch", "barrier", "stop_token"}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(text):
    """[(line, name, quoted)] of the includes of a file, those in comments left out."""
    code = blank(text, keep_strings=True)
    return [(line_of(code, m.start(2)), m.group(2), m.group(1) == '"') for m in _INCLUDE.finditer(code)]


def room_of(path):
    """The room of a file: 'assay' for the door, '' outside the rooms, None below src/ in an unknown room."""
    if path.startswith("include/assay/"):
        return "assay"
    parts = path.split("/")
    if parts[0] != "src":
        return ""
    return parts[1] if len(parts) > 2 and parts[1] in ROOMS else None


def is_test(path):
    return path.endswith(("_test.cc", "_bench.cc", "_fuzz.cc")) or "/testing/" in path


def third_party_of(name):
    for party, (pattern, _) in THIRD_PARTIES.items():
        if re.fullmatch(pattern, name):
            return party
    return None


def complaint(path, name, quoted):
    """Why this file may not include this header, or None."""
    head = name.split("/")[0]
    is_ours = quoted and "/" in name and (head in ROOMS or head in ("bench", "tests"))
    if not is_ours:
        return _foreign_complaint(path, name, quoted)
    if path.startswith(FREE_FOLDERS) or path == JOINT:
        return None
    room = room_of(path)
    if room is None:
        return "a file in src/ lies in one of the rooms: " + ", ".join(sorted(ROOMS))
    if is_test(path) and "/testing/" in name:
        return None
    allowed = ROOMS[room] if room else {"assay"}
    if any(name == entry or name.startswith(entry + "/") for entry in allowed):
        return None
    return f"{room or 'this file'} may include {', '.join(sorted(allowed))}, not {name}"


def _foreign_complaint(path, name, quoted):
    room = room_of(path)
    party = third_party_of(name)
    if party:
        files = THIRD_PARTIES[party][1]
        if not any(re.fullmatch(pattern, path) for pattern in files):
            return f"{party} ({name}) belongs only in {', '.join(files)}"
        if path.endswith(".h") and path.startswith(("include/", "src/")) and party != "CLI11" and "/testing/" not in path:
            return f"no third-party type in a header: {name}"
        return None
    if quoted:
        return f"unknown header {name}: ours are written from include/ or src/, as in \"base/clock.h\""
    if path.startswith(FREE_FOLDERS):
        return None
    if room in ("assay", "decision") and not is_test(path):
        if not _STANDARD.fullmatch(name):
            return f"{room} includes the standard library only, not {name}"
        if room == "decision" and name in _IMPURE:
            return f"decision is pure: no thread, clock, log or file, so no <{name}>"
        return None
    if room == "teach" and name in _IMPURE and not is_test(path):
        return f"teach is pure: no thread, clock, log or file, so no <{name}>"
    if not _SYSTEM.fullmatch(name) and not _STANDARD.fullmatch(name):
        return f"unknown third-party header {name}: name it in tests/tidy/includes.py with its one file"
    return None
