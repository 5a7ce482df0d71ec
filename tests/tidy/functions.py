"""Where functions begin and end. For C++ a brace count, good enough for code that clang-format has laid out."""

import ast
import re

from source import blank, blank_directives, line_of

# What may stand before the keyword of a type, and the keywords that open a brace of no function.
_NO_FUNCTION = re.compile(r"^(?:(?:public|private|protected)\s*:\s*)?"
                          r"(?:template\s*<.*>\s*|\[\[.*?\]\]\s*|static\s+|inline\s+|constexpr\s+|const\s+|typedef\s+)*"
                          r"(?:namespace|class|struct|union|enum|extern)\b", re.DOTALL)


def _opens_function(head):
    """True when the text since the last ';', '{' or '}' ends in a parameter list and its qualifiers."""
    head = head.strip()
    return "(" in head and not head.endswith(("=", "(", ",")) and not _NO_FUNCTION.match(head)


def cpp_functions(text):
    """[(first line, lines of the body, head)] of the outermost functions; a lambda counts with what holds it."""
    code = blank_directives(blank(text))
    found = []
    stack = []          # for each open brace: None, or (position, head) of a function
    inside = 0          # open functions
    head_from = 0
    for match in re.finditer(r"[{};]", code):
        position = match.start()
        if match.group(0) == "{":
            head = code[head_from:position]
            if inside == 0 and _opens_function(head):
                stack.append((position, " ".join(head.split())))
                inside += 1
            else:
                stack.append(None)
        elif match.group(0) == "}" and stack:
            opened = stack.pop()
            if opened:
                inside -= 1
                first = line_of(code, opened[0])
                found.append((first, line_of(code, position) - first + 1, opened[1]))
        head_from = position + 1
    return found


def python_functions(text):
    """[(first line, lines, name)] of every function, nested ones too."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.lineno, node.end_lineno - node.lineno + 1, node.name) for node in ast.walk(ast.parse(text))
            if isinstance(node, kinds)]
