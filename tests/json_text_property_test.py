#!/usr/bin/env python3
"""to_json_text() against Python's json.dumps(ensure_ascii=False) on random documents.

usage: json_text_property_test.py TOOL [--documents N] [--seed N]

TOOL is the program built from tests/json_text_tool.cc. Documents are spelt in random ways (spaces,
escapes, exponents), so the whole way through our parser is compared, not only the writer.
"""

import argparse
import json
import random
import struct
import subprocess
import sys

LEVELS_MAX = 200  # the wire may refuse deeper documents
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "/": "\\/"}

NUMBERS = """0 -0 -0.0 0.0 1.0 0.1 100 1e0 0e0 -0E-7 1E5 1E+2 1e22 1e15 1e16 9999999999999998.0 1e-4 1e-5 1e-400 5e-324
    2.2250738585072014e-308 1.7976931348623157e308 123456789012345678.0 9007199254740993 9007199254740993.0
    18446744073709551615 18446744073709551616 -9223372036854775808 -9223372036854775809""".split()


def random_character(rng):
    kind = rng.randrange(10)
    if kind < 4:
        return chr(rng.randrange(0x20, 0x7F))
    if kind == 4:
        return chr(rng.randrange(0x20))
    if kind == 5:
        return rng.choice('"\\/\b\f\n\r\t\x7f\x80\u2028\u2029\ufeff\ufffd\uffff\u0000')
    if kind == 6:
        return chr(rng.randrange(0x80, 0x800))
    if kind == 7:
        return chr(rng.choice((rng.randrange(0x800, 0xD800), rng.randrange(0xE000, 0x10000))))
    if kind == 8:
        return chr(rng.randrange(0x10000, 0x110000))
    return rng.choice("éß漢字🙂👩‍💻ñ")


def spell_character(rng, character):
    """One of the ways in which JSON can write this character."""
    code = ord(character)
    if character in ESCAPES and (character != "/" or rng.random() < 0.3) and rng.random() < 0.7:
        return ESCAPES[character]
    if code < 0x20 or character in '"\\' or rng.random() < 0.1:
        units = character.encode("utf-16-be")
        spelled = "".join(f"\\u{int.from_bytes(units[i:i + 2], 'big'):04x}" for i in range(0, len(units), 2))
        return spelled.replace("\\u", "\0").upper().replace("\0", "\\u") if rng.random() < 0.5 else spelled
    return character


def spell_string(rng, text):
    return '"' + "".join(spell_character(rng, c) for c in text) + '"'


def random_text(rng):
    return "".join(random_character(rng) for _ in range(rng.choice((0, 1, 3, 8, 30))))


def spell_double(rng, value):
    digits = rng.choice(("%r", "%.17g", "%.3e", "%.20e", "%.6f", "%.1E"))
    text = digits % value if digits != "%r" else repr(value)
    return text if abs(float(text)) != float("inf") else "0.0"


def random_number(rng):
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind in (1, 2):
        return str(rng.randrange(-1000, 1000))
    if kind == 3:
        return str(rng.randrange(-(10 ** rng.randrange(1, 300)), 10 ** rng.randrange(1, 300)))
    if kind == 4:  # any bits at all, subnormals included
        value = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
        return spell_double(rng, value if value == value and abs(value) != float("inf") else 0.5)
    if kind == 5:  # subnormals
        return spell_double(rng, struct.unpack("<d", struct.pack("<Q", rng.getrandbits(rng.randrange(1, 53))))[0])
    if kind == 6:  # around the places where repr() changes its layout
        return spell_double(rng, rng.uniform(0.5, 20) * 10.0 ** rng.choice((-5, -4, -3, 14, 15, 16, 17)))
    if kind == 7:
        return f"{rng.randrange(-999, 999)}{rng.choice('eE')}{rng.choice(('', '+', '-'))}{rng.randrange(0, 300)}"
    return spell_double(rng, float(rng.randrange(-10 ** 6, 10 ** 6)) / rng.choice((1, 2, 3, 10, 1000)))


def space(rng):
    return rng.choice(("", "", "", " ", "  ", "\t", " \r"))


def random_document(rng, level):
    kind = rng.randrange(10)
    if level <= 0 or kind < 4:
        leaf = rng.randrange(6)
        if leaf < 3:
            return random_number(rng)
        return spell_string(rng, random_text(rng)) if leaf < 5 else rng.choice(("null", "true", "false"))
    count = rng.randrange(5)
    if kind < 7:
        items = (space(rng) + random_document(rng, level - 1) + space(rng) for _ in range(count))
        return "[" + (",".join(items) or space(rng)) + "]"
    keys = sorted({random_text(rng) for _ in range(count)}, key=lambda _: rng.random())
    members = (space(rng) + spell_string(rng, key) + space(rng) + ":" + space(rng) + random_document(rng, level - 1) +
               space(rng) for key in keys)
    return "{" + (",".join(members) or space(rng)) + "}"


def deep_document(rng):
    document = random_document(rng, 2)
    for _ in range(rng.randrange(20, LEVELS_MAX - 2)):
        document = f"[{document}]" if rng.random() < 0.5 else f'{{"k":{space(rng)}{document}}}'
    return document


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("tool")
    arguments.add_argument("--documents", type=int, default=3000)
    arguments.add_argument("--seed", type=int, default=None)
    options = arguments.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2 ** 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    documents = [deep_document(rng) if i % 50 == 49 else random_document(rng, 6) for i in range(options.documents)]
    run = subprocess.run([options.tool], input="".join(d + "\n" for d in documents).encode(), capture_output=True,
                         check=False)
    answers = run.stdout.decode("utf-8", "replace").split("\n")[:-1]
    passed = 0
    for i, document in enumerate(documents):
        expected = json.dumps(json.loads(document), ensure_ascii=False)
        answer = answers[i] if i < len(answers) else "(no answer)"
        if answer == expected:
            passed += 1
        else:
            print(f"document {i}\n  in       {document!r}\n  expected {expected!r}\n  got      {answer!r}")
    failed = len(documents) - passed
    if run.returncode != 0 or len(answers) != len(documents):
        print(f"the tool ended with {run.returncode} after {len(answers)} lines")
        print(run.stderr.decode("utf-8", "replace"))
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
