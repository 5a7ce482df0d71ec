"""Source files as the rules see them: which files are ours, and C++ text with comments and literals blanked."""

import os
import re

SKIPPED_FOLDERS = {".git", "build", "third_party", "models", "dist", "results", "node_modules", "__pycache__", ".venv"}
# Stored test data is compared byte for byte, so no rule about its text applies.
DATA_FOLDERS = {"data", "golden", "corpus"}
TEXT_ENDINGS = (".cc", ".h", ".py", ".sh", ".md", ".cmake", ".txt", ".json", ".toml", ".yml", ".yaml", ".js", ".ts",
                ".css", ".html", ".c", ".cpp", ".cu", ".metal", ".service", ".in")
CPP_ENDINGS = (".cc", ".h")


def our_files(root):
    """Paths relative to root, '/'-separated and sorted, of every text file that is ours."""
    found = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS | DATA_FOLDERS)
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if not os.path.islink(os.path.join(root, path)) and is_text_name(name):
                found.append(path)
    return sorted(found)


def is_text_name(name):
    return name.endswith(TEXT_ENDINGS) or "." not in name or name.startswith(".")


def read(root, path):
    """The file's text, or None when it is not UTF-8 text."""
    with open(os.path.join(root, path), "rb") as file:
        content = file.read()
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def line_of(text, position):
    return text.count("\n", 0, position) + 1


_TOKEN = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*'                             # a line comment
    r'|/\*.*?\*/'                                          # a block comment
    r'|(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'  # a raw string
    r'|"(?:[^"\\\n]|\\.)*"'                                # a string
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*'",               # a character, not a digit separator
    re.DOTALL)


def blank(text, keep_strings=False):
    """C++ text of the same length and lines with comments (and string and character literals) as spaces."""

    def spaces(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        if keep_strings:
            return token
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return _TOKEN.sub(spaces, text)


def blank_directives(code):
    """Blanked C++ text with preprocessor lines as spaces too: macros need not have balanced braces."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code,
                  flags=re.MULTILINE | re.DOTALL)
