"""The rules of this project that a program can check: python3 tests/tidy/tidy.py ROOT

Prints one line for each finding, `file:line: rule: message`, and exits 1 when there is any. Each rule is a function
(path, text) -> [(line, message)]; tests/tidy/tidy_test.py tries each one on small strings.
"""

import re
import sys

import functions
import includes
import source
import source_groups
from source import blank, line_of

LINES_MAX = {".cc": 400, ".h": 200}
FUNCTION_LINES_MAX = 70

# Exceptions: {"rule name": {"path": "why this file may"}}. Empty, and meant to stay so: an entry needs a reason that
# a reader accepts, and goes away with it.
ALLOWED = {}


def is_cpp(path):
    return path.endswith(source.CPP_ENDINGS)


def matches(pattern, text):
    return [(line_of(text, m.start()), m) for m in re.finditer(pattern, text, re.MULTILINE)]


def file_length(path, text):
    limit = LINES_MAX.get("." + path.rsplit(".", 1)[-1])
    lines = len(text.splitlines())
    if limit and lines > limit:
        return [(limit + 1, f"{lines} lines, {limit} are the limit: split by noun")]
    return []


def function_length(path, text):
    if is_cpp(path):
        found = functions.cpp_functions(text)
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        found = functions.python_functions(text)
    else:
        return []
    return [(line, f"{lines} lines in one function, {FUNCTION_LINES_MAX} are the limit: {name[-60:]}")
            for line, lines, name in found if lines > FUNCTION_LINES_MAX]


def include_rules(path, text):
    if not is_cpp(path):
        return []
    found = [(line, includes.complaint(path, name, quoted)) for line, name, quoted in includes.includes(text)]
    return [(line, message) for line, message in found if message]


def shadowing_names(path, text):
    # llama.cpp includes these by their bare names: one of ours on the include path would be taken for its own.
    folder, _, name = ("/" + path).rpartition("/")
    if folder in ("", "/src", "/include") and name in ("common.h", "log.h", "chat.h", "json.h", "arg.h", "http.h"):
        return [(1, f"{name} here would be found in place of llama.cpp's header of that name")]
    return []


def header_beginning(path, text):
    if not path.endswith(".h"):
        return []
    lines = text.splitlines()
    if not lines or lines[0] != "#pragma once":
        return [(1, "a header begins with #pragma once")]
    if not any(line.startswith("//") for line in lines[1:5]):
        return [(1, "a header says near its top what it is for")]
    return []


def no_cout(path, text):
    if not is_cpp(path) or not path.startswith(("src/", "include/")) or path.startswith("src/cli/"):
        return []
    return [(line, "only the command line prints") for line, _ in matches(r"\bstd::cout\b", blank(text))]


def no_sleep(path, text):
    if not is_cpp(path):
        return []
    pattern = r"\b(?:sleep_for|sleep_until|sleep|usleep|nanosleep)\s*\("
    return [(line, "wait on a condition, never for a time") for line, _ in matches(pattern, blank(text))]


def no_detach(path, text):
    if not is_cpp(path):
        return []
    return [(line, "a thread has an owner who joins it") for line, _ in matches(r"(?:\.|->)detach\s*\(", blank(text))]


def no_reminders(path, text):
    # Spelt in two halves, here and below, so that this file passes its own rules.
    pattern = r"\b(?:" "TO" r"DO|FIX" r"ME|X" r"XX)\b"
    return [(line, f"{m.group(0)}: do it or file an issue") for line, m in matches(pattern, text)]


def no_disabled_tests(path, text):
    if not is_cpp(path):
        return []
    code = blank(text)
    found = [(line, "a disabled test does not land") for line, _ in matches(r"\bDISABLED" r"_\w", code)]
    found += [(line, "a skipped test says why") for line, _ in matches(r"\bGTEST_SKIP\s*\(\s*\)\s*;", code)]
    return found


def no_trailing_space(path, text):
    return [(line, "trailing white space") for line, _ in matches(r"[ \t\r]+$", text)]


def no_home_paths(path, text):
    pattern = r"(?<![\w.$}/])/(?:root|work|home/\w+|Users/\w+)/\w"
    return [(line, "a path of one machine: " + m.group(0)) for line, m in matches(pattern, text)]


def no_vague_types(path, text):
    if not is_cpp(path):
        return []
    pattern = r"\b(?:class|struct|union|enum|enum\s+class|using)\s+(\w*(?:Manager|Helper|Util)s?(?![a-z])\w*)"
    return [(line, f"{m.group(1)} does not say what it is") for line, m in matches(pattern, blank(text))]


def no_unused_names(path, text):
    # clang says it of the file that it compiles, but not of one that it looks at in a group (tools/lint).
    if not path.endswith(".cc"):
        return []
    code = blank(text)
    places = [(name, list(re.finditer(rf"\b{name}\b", code))) for name in source_groups.unnamed_names(text) - {"main"}]
    return sorted((line_of(text, found[0].start()), f"{name} is used nowhere") for name, found in places if len(found) == 1)


def no_registry_hosts(path, text):
    hosts = ("pypi" r"\.org", "files" r"\.pythonhosted\.org", "registry" r"\.npmjs\.org", "crates" r"\.io",
             "deb" r"\.debian\.org")
    return [(line, m.group(0) + ": name packages and versions, not hosts")
            for line, m in matches(r"\b(?:" + "|".join(hosts) + r")\b", text)]


RULES = (file_length, function_length, include_rules, shadowing_names, header_beginning, no_cout, no_sleep, no_detach,
         no_reminders, no_disabled_tests, no_trailing_space, no_home_paths, no_vague_types, no_unused_names,
         no_registry_hosts)


def check_text(path, text):
    """Every finding in one file: [(line, rule name, message)]."""
    found = []
    for rule in RULES:
        name = rule.__name__.replace("_", "-")
        if path not in ALLOWED.get(name, {}):
            found += [(line, name, message) for line, message in rule(path, text)]
    return sorted(found)


def main(root):
    files = 0
    findings = 0
    for path in source.our_files(root):
        text = source.read(root, path)
        if text is None:
            continue
        files += 1
        for line, rule, message in check_text(path, text):
            print(f"{path}:{line}: {rule}: {message}")
            findings += 1
    print(f"tidy: {files} files, {findings} findings")
    # No file at all means that ROOT is wrong, not that all is well.
    return 0 if files > 0 and findings == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 tests/tidy/tidy.py ROOT")
    sys.exit(main(sys.argv[1]))
