"""Parses RE2's syntax into a tree. What RE2 lacks, backreferences and lookaround, is refused."""

from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from tidelog.base.patterns import ascii_sets

REPEAT_MAX = 1000
NESTING_MAX = 100

_ESCAPED = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_OCTAL = "01234567"


class BadPattern(ValueError):
    """What is wrong with a regular expression, in words for its author."""


class Edge(Enum):
    BEGIN = "the begin of the name"
    END = "the end of the name"
    WORD = "between a word character and another"
    NOT_WORD = "not there"


@dataclass(frozen=True, slots=True)
class Chars:
    mask: int


@dataclass(frozen=True, slots=True)
class Assertion:
    edge: Edge


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    part: "Node"
    least: int
    most: int | None


Node = Chars | Assertion | Sequence | Choice | Repeat

_EDGES = {"^": Edge.BEGIN, "$": Edge.END}
_ESCAPED_EDGES = {"A": Edge.BEGIN, "z": Edge.END, "b": Edge.WORD, "B": Edge.NOT_WORD}


def parse(text: str) -> Node:
    parser = _Parser(text)
    node = parser.choice(0)
    if parser.position < len(text):
        parser.fail("unexpected )")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.ignores_case = False

    def fail(self, why: str) -> NoReturn:
        raise BadPattern(f"{why} at character {self.position}")

    def choice(self, depth: int) -> Node:
        if depth > NESTING_MAX:
            self.fail("nested too deeply")
        outer = self.ignores_case  # a flag set inside a group ends with it
        parts = [self._sequence(depth)]
        while self._accept("|"):
            parts.append(self._sequence(depth))
        self.ignores_case = outer
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            if self._accept("\\Q"):
                parts += self._quoted()
                continue
            atom = self._atom(depth)
            if atom is not None:
                parts.append(self._repeated(atom))
        return Sequence(tuple(parts))

    def _atom(self, depth: int) -> Node | None:
        if self._bounds() is not None:
            self.fail("nothing to repeat")
        character = self.text[self.position]
        self.position += 1
        match character:
            case "(":
                return self._group(depth)
            case "[":
                return Chars(self._fold(self._class()))
            case ".":
                return Chars(ascii_sets.ANY_BUT_NEWLINE)
            case "^" | "$":
                return Assertion(_EDGES[character])
            case "\\":
                return self._escape()
        return self._literal(character)

    def _group(self, depth: int) -> Node | None:
        if self._accept("?"):
            if self._accept("P<") or self._looks_like_name():
                self._group_name()
            elif self._flags():
                return None
        node = self.choice(depth + 1)
        if not self._accept(")"):
            self.fail("missing )")
        return node

    def _looks_like_name(self) -> bool:
        here = self.text[self.position : self.position + 2]
        if here in ("<=", "<!") or here[:1] in ("=", "!"):
            self.fail("lookaround is not supported")
        return self._accept("<")

    def _group_name(self) -> None:
        name, _, _ = self.text[self.position :].partition(">")
        if not name.isidentifier() or not self.text.startswith(">", self.position + len(name)):
            self.fail("invalid group name")
        self.position += len(name) + 1

    def _flags(self) -> bool:
        """Whether `(?flags)` stood alone: then it holds for the rest of the group it stands in."""
        on = True
        while self.position < len(self.text):
            flag = self.text[self.position]
            self.position += 1
            if flag == "-" and on:
                on = False
            elif flag == "i":
                self.ignores_case = on
            elif flag in ":)":
                return flag == ")"
            elif flag not in "msU":  # lines and greed make no difference to whole names
                break
        self.fail("unknown flag or group")

    def _repeated(self, atom: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        self._accept("?")
        if self._bounds() is not None:
            self.fail("a repetition of a repetition")
        least, most = bounds
        if least > REPEAT_MAX or (most is not None and (most > REPEAT_MAX or most < least)):
            self.fail("bad number of repetitions")
        return Repeat(atom, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(sign):
                return bounds
        if not self.text.startswith("{", self.position):
            return None
        inner, closed, _ = self.text[self.position + 1 :].partition("}")
        first, comma, last = inner.partition(",")
        if not closed or not _is_number(first) or not (last == "" or _is_number(last)) or len(inner) > 9:
            return None  # not a repetition: a brace like any other character
        self.position += len(inner) + 2
        if not comma:
            return int(first), int(first)
        return int(first), int(last) if last else None

    def _quoted(self) -> list[Node]:
        quoted, _, _ = self.text[self.position :].partition("\\E")
        self.position = min(self.position + len(quoted) + 2, len(self.text))
        literals: list[Node] = [self._literal(one) for one in quoted]
        if literals:
            literals[-1] = self._repeated(literals[-1])
        return literals

    def _literal(self, character: str) -> Node:
        return Chars(self._fold(ascii_sets.of(character)))

    def _fold(self, mask: int) -> int:
        return ascii_sets.folded(mask) if self.ignores_case else mask

    def _escape(self) -> Node:
        character = self._next("trailing backslash")
        if character in _ESCAPED_EDGES:
            return Assertion(_ESCAPED_EDGES[character])
        if character == "C":
            return Chars(ascii_sets.ALL)
        mask = self._escaped_set(character)
        return Chars(self._fold(ascii_sets.of(self._escaped_character(character)) if mask is None else mask))

    def _escaped_set(self, character: str) -> int | None:
        """\\d and the like; None where a single character is meant."""
        mask = ascii_sets.PERL.get(character.lower())
        if mask is None and character in "pP":
            mask = self._unicode_class()
        if mask is None:
            return None
        return ascii_sets.ALL & ~mask if character.isupper() else mask

    def _unicode_class(self) -> int:
        name = self._next("missing class name")
        if name == "{":
            name, closed, _ = self.text[self.position :].partition("}")
            self.position += len(name) + len(closed)
        negated = name.startswith("^")
        mask = ascii_sets.unicode_class(name.removeprefix("^"))
        if mask is None:
            self.fail("unknown character class")
        return ascii_sets.ALL & ~mask if negated else mask

    def _escaped_character(self, character: str) -> str:
        if character in _ESCAPED:
            return _ESCAPED[character]
        if character == "x":
            return self._hexadecimal()
        if character in _OCTAL:
            digits = character
            while len(digits) < 3 and self.text[self.position : self.position + 1] in {*_OCTAL}:
                digits += self._next("")
            if character != "0" and len(digits) == 1:
                self.fail("backreferences are not supported")
            return chr(int(digits, 8))
        if character.isascii() and not character.isalnum():
            return character
        self.fail(f"unknown escape \\{character}")

    def _hexadecimal(self) -> str:
        if self._accept("{"):
            digits, closed, _ = self.text[self.position :].partition("}")
            self.position += len(digits) + len(closed)
        else:
            digits = self.text[self.position : self.position + 2]
            self.position += 2
            closed = "}" if len(digits) == 2 else ""
        if not closed or not digits or len(digits) > 6 or not set(digits) <= {*"0123456789abcdefABCDEF"}:
            self.fail("bad hexadecimal escape")
        if int(digits, 16) > 0x10FFFF:
            self.fail("no such character")
        return chr(int(digits, 16))

    def _class(self) -> int:
        negated = self._accept("^")
        mask, first = ascii_sets.NONE, True
        while first or not self._accept("]"):
            first = False
            mask |= self._class_part()
        mask = self._fold(mask)
        return ascii_sets.ALL & ~mask if negated else mask

    def _class_part(self) -> int:
        if self._accept("[:"):
            name, closed, _ = self.text[self.position :].partition(":]")
            mask = ascii_sets.POSIX.get(name.removeprefix("^"))
            if not closed or mask is None:
                self.fail("unknown character class")
            self.position += len(name) + 2
            return ascii_sets.ALL & ~mask if name.startswith("^") else mask
        low = self._class_character()
        if isinstance(low, int):
            return low
        here = self.text[self.position : self.position + 2]
        if here[:1] != "-" or here == "-]":
            return ascii_sets.of(low)
        self.position += 1
        high = self._class_character()
        if isinstance(high, int) or ord(high) < ord(low):
            self.fail("bad range of characters")
        return ascii_sets.between(ord(low), ord(high))

    def _class_character(self) -> str | int:
        character = self._next("missing ]")
        if character != "\\":
            return character
        character = self._next("trailing backslash")
        mask = self._escaped_set(character)
        return self._escaped_character(character) if mask is None else mask

    def _accept(self, token: str) -> bool:
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def _next(self, otherwise: str) -> str:
        if self.position >= len(self.text):
            self.fail(otherwise)
        self.position += 1
        return self.text[self.position - 1]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
