"""Sets of characters as bits of one number. Names are nearly always ASCII, and 128 bits hold all of it.

A character beyond ASCII is the empty set: legal in an expression, and it matches nothing.
"""

import unicodedata

CHARACTERS = 128
ALL = (1 << CHARACTERS) - 1
NONE = 0


def of(characters: str) -> int:
    mask = 0
    for character in characters:
        if ord(character) < CHARACTERS:
            mask |= 1 << ord(character)
    return mask


def between(first: int, last: int) -> int:
    """Code points, both included."""
    last = min(last, CHARACTERS - 1)
    return ((1 << (last + 1)) - 1) & ~((1 << first) - 1) if first <= last else NONE


UPPER = between(ord("A"), ord("Z"))
LOWER = between(ord("a"), ord("z"))
DIGIT = between(ord("0"), ord("9"))
LETTER = UPPER | LOWER
WORD = LETTER | DIGIT | of("_")
SPACE = of("\t\n\f\r ")
ANY_BUT_NEWLINE = ALL & ~of("\n")
_CASE = ord("a") - ord("A")

PERL = {"d": DIGIT, "s": SPACE, "w": WORD}

POSIX = {
    "alnum": LETTER | DIGIT,
    "alpha": LETTER,
    "ascii": ALL,
    "blank": of("\t "),
    "cntrl": between(0, 31) | of("\x7f"),
    "digit": DIGIT,
    "graph": between(33, 126),
    "lower": LOWER,
    "print": between(32, 126),
    "punct": between(33, 126) & ~(LETTER | DIGIT),
    "space": SPACE | of("\v"),
    "upper": UPPER,
    "word": WORD,
    "xdigit": DIGIT | of("abcdefABCDEF"),
}

_SCRIPTS = {"Any": ALL, "Latin": LETTER, "Common": ALL & ~LETTER} | dict.fromkeys(
    ("Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul", "Hebrew", "Hiragana", "Katakana", "Thai"),
    NONE,
)
_CATEGORIES = {
    "C": "Cc Cf Cs Co",
    "L": "Lu Ll Lt Lm Lo",
    "M": "Mn Mc Me",
    "N": "Nd Nl No",
    "P": "Pc Pd Ps Pe Pi Pf Po",
    "S": "Sm Sc Sk So",
    "Z": "Zs Zl Zp",
}


def unicode_class(name: str) -> int | None:
    """What of ASCII is in a general category or script; None for a name that is neither."""
    if name in _SCRIPTS:
        return _SCRIPTS[name]
    kinds = _CATEGORIES.get(name[:1], "").split()
    if name not in kinds and name not in _CATEGORIES:
        return None
    wanted = kinds if name in _CATEGORIES else [name]
    return of("".join(one for one in map(chr, range(CHARACTERS)) if unicodedata.category(one) in wanted))


def folded(mask: int) -> int:
    """With both cases of every letter."""
    return mask | (mask & UPPER) << _CASE | (mask & LOWER) >> _CASE
