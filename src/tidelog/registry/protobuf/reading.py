"""A reader over the tokens of a text: look at the next token, take it, or say on which line it is wrong."""

from typing import NoReturn

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import FULL_NAME_MAX
from tidelog.registry.protobuf.tokens import Token, TokenKind, line_of, tokenize, unquoted

DEPTH_MAX = 48
"""Messages in messages, and values in values. Protobuf libraries stop at 100 levels of a descriptor."""


class Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._next = 0
        self._depth = 0

    def peek(self, ahead: int = 0) -> str:
        """Returns the text of a token to come; a string begins with its quote, and the end is empty."""
        at = self._next + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def peek_kind(self) -> TokenKind:
        return self._tokens[self._next].kind

    def take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind is not TokenKind.END:
            self._next += 1
        return token

    def take_if(self, text: str) -> bool:
        if self._tokens[self._next].text == text:
            self._next += 1
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.take_if(symbol):
            self.fail(f"expected '{symbol}'")

    def name(self) -> str:
        if self.peek_kind() is not TokenKind.NAME:
            self.fail("expected a name")
        return self._short(self.take().text)

    def full_name(self) -> str:
        """Reads `a.b.C`, also with a dot in front."""
        parts = ["."] if self.take_if(".") else []
        parts.append(self.name())
        while self.take_if("."):
            parts += (".", self.name())
        return self._short("".join(parts))

    def _short(self, name: str) -> str:
        if len(name) > FULL_NAME_MAX:
            self.refuse(f"a name of {len(name)} characters is too long: {FULL_NAME_MAX} are allowed")
        return name

    def string(self) -> str:
        """Reads a string, or several that stand side by side."""
        if self.peek_kind() is not TokenKind.STRING:
            self.fail("expected a string")
        parts = []
        while self.peek_kind() is TokenKind.STRING:
            parts.append(unquoted(self.take().text))
        return "".join(parts)

    def path(self) -> str:
        """Reads a string that must be text: the path of an import, a reserved name."""
        path = self.string()
        if not path or not path.isprintable():
            self.refuse("a path or a name in quotes has printable characters only")
        return path

    def integer(self, low: int, high: int) -> int:
        negative = self.take_if("-")
        token = self._tokens[self._next]
        if token.kind is not TokenKind.NUMBER or len(token.text) > 32:
            self.fail("expected an integer")
        number = whole_number(token.text)
        if number is None:
            self.fail("expected an integer")
        number = -number if negative else number
        if not low <= number <= high:
            self.refuse(f"the number {number} is not between {low} and {high}")
        self._next += 1
        return number

    def enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self.refuse(f"this is nested more than {DEPTH_MAX} levels deep: declare inner types at the top")

    def leave(self) -> None:
        self._depth -= 1

    def fail(self, what: str) -> NoReturn:
        """Says what was expected, and what was found."""
        token = self._tokens[self._next]
        found = "the end of the text" if token.kind is TokenKind.END else f"'{token.text[:40]}'"
        self.refuse(f"{what}, found {found}")

    def refuse(self, what: str) -> NoReturn:
        line = line_of(self._text, self._tokens[self._next].position)
        raise SchemaError(f"Line {line}: {what}.")


def whole_number(text: str) -> int | None:
    """Returns the value of a decimal, hexadecimal or octal literal; None where it is no integer."""
    try:
        if text[:2] in ("0x", "0X"):
            return int(text, 16)
        if len(text) > 1 and text.startswith("0"):
            return int(text, 8)
        return int(text)
    except ValueError:
        return None
