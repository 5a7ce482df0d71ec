"""Which C++ files one compiler run can take together: python3 tests/tidy/source_groups.py FILE...

For cmake/unity.cmake and tools/lint. Most of a small file's time goes into the headers that it shares with its
neighbours. Files that are compiled as one also share their unnamed namespaces, so a file that mentions a name which
another keeps to itself goes into another group, and one with macros of its own stays alone. Prints a line `NUMBER FILE`
for each file, in the order given.
"""

import re
import sys

import source

GROUP_MAX = 8  # a quarter to half of the time of eight; larger ones would leave a core idle at the end

# clang-format puts the comment there, and what belongs to the namespace itself at the margin.
_UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
_NO_NAME = re.compile(r"\s|[})#]|TEST|INSTANTIATE_|using [\w: ]+;|template |static_assert\(|$")
_NAME = re.compile(r"(?:class|struct|union|enum(?: class)?) (\w+)(?=\s*(?:final\b|[:{;]|$))"  # a type
                   r"|(?:using|namespace) (\w+) ="                                     # an alias
                   r"|[^=({]*?(\w+)(?:\[[^=;]*\])*(?:[(={;]| =| \{|$)")               # a function, a variable
_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b", re.MULTILINE)


class Group:
    """Files that go together."""

    def __init__(self):
        self.paths = []
        self.names = set()  # what they keep to themselves
        self.words = set()  # all that they mention
        self.closed = False

    def takes(self, names, words):
        return not self.closed and not self.names & words and not names & self.words

    def add(self, path, names, words, room):
        self.paths.append(path)
        self.names |= names
        self.words |= words
        self.closed = len(self.paths) >= room


def unnamed_names(text):
    """The names that a file declares in its unnamed namespaces, and `main` where it defines that."""
    code = source.blank(text)
    names = {"main"} if re.search(r"^(int main|BENCHMARK_MAIN)\(", code, re.MULTILINE) else set()
    for body in _UNNAMED.finditer(text):
        for line in code[body.start(1):body.end(1)].split("\n"):
            match = None if _NO_NAME.match(line) else _NAME.match(line)
            if match:
                names.add(match[match.lastindex])
    return names - {"operator"}


def groups(paths, group_max=GROUP_MAX):
    """Lists of paths: each path in the first group that takes it."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        names, words = unnamed_names(text), set(re.findall(r"\w+", source.blank(text)))
        alone = _MACRO.search(text) is not None
        group = next((group for group in found if group.takes(names, words)), None)
        if alone or group is None:
            group = Group()
            found.append(group)
        group.add(path, names, words, 1 if alone else group_max)
    return [group.paths for group in found]


def main(paths):
    number_of = {path: number for number, members in enumerate(groups(paths)) for path in members}
    for path in paths:
        print(number_of[path], path)


if __name__ == "__main__":
    main(sys.argv[1:])
