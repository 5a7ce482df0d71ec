"""Texts for requests out of a seed: plain words, so that nothing outside this file is needed and JSON escapes nothing.

Lengths are in tokens, roughly: a word or a full stop is one in the vocabularies used here. What a prompt really has is counted by
the servers and stands in the rows.
"""

import random

SEED = 20261129
WORDS = """the a and of to in that it was for on with he she they but from by this had not are have an which we one all when
there been if more who will out so up said what about into than them can only other time new some could these two may first then do
any my now such like our over me even most made after also did many before must through back years where much your way well down
should because each just those people how too little state good very make world still see own men work long here get both between
life being under never day same another know while last might us great old year off come since against go came right used take three
small house city letter order payment account delivery customer request answer report service support contract invoice refund price
product damaged broken late early missing wrong change cancel renew question problem urgent friendly angry happy morning evening
office phone email table window garden river road train market school doctor music paper water light machine engine number page
rule case part place point group hand week month""".split()


def source(*parts):
    """A generator of its own for each place of use: the same numbers in every run and on every machine."""
    return random.Random("/".join(str(part) for part in (SEED, *parts)))


def text(random_source, tokens):
    """About `tokens` tokens of sentences: words, and a full stop after every eleven."""
    words = []
    while len(words) + len(words) // 11 < max(1, tokens - 1):
        words.append(random_source.choice(WORDS))
    lines = [" ".join(words[first:first + 11]).capitalize() + "." for first in range(0, len(words), 11)]
    return " ".join(lines)


def options(random_source, count, tokens):
    """Options with ids o0, o1, ... and distinct descriptions of about `tokens` tokens each."""
    made = []
    seen = set()
    while len(made) < count:
        description = " ".join(random_source.choice(WORDS) for _ in range(tokens))
        if description not in seen:
            seen.add(description)
            made.append({"id": f"o{len(made)}", "description": description})
    return made


def decision(name, state, question, choices):
    return {"id": str(name), "state": state, "question": question, "options": choices}


def zipf(random_source, kinds, count):
    """`count` draws from 0..kinds-1, the k-th as likely as 1/(k+1)."""
    return random_source.choices(range(kinds), [1 / (kind + 1) for kind in range(kinds)], k=count)
