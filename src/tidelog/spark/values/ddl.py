"""A schema as SQL writes it, `id STRING NOT NULL, tags ARRAY<STRING>`, checked without Spark.

Only the names of types and the brackets are looked at, where mistakes are made; what may follow a type
(NOT NULL, COMMENT, DEFAULT) is for Spark to read.
"""

import re
from difflib import get_close_matches

from tidelog.spark.values.errors import BadSchema

TYPES = (
    "BOOLEAN", "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG", "FLOAT", "REAL",
    "DOUBLE", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "STRING", "CHAR", "CHARACTER",
    "VARCHAR", "BINARY", "DECIMAL", "DEC", "NUMERIC", "VOID", "INTERVAL", "VARIANT", "GEOMETRY", "GEOGRAPHY",
    "ARRAY", "MAP", "STRUCT",
)  # fmt: skip
ARGUMENTS = {"ARRAY": 1, "MAP": 2}
TOKEN = re.compile(r"\s*(?P<token>`(?:[^`]|``)+`|'(?:[^'\\]|\\.)*'|[A-Za-z0-9_]+|[<>(),:]|\S)")
DEPTH_MAX = 100


def check_ddl(text: str) -> None:
    """BadSchema names the field and the type that is none."""
    reader = _Reader([found["token"] for found in TOKEN.finditer(text)])
    if reader.next_is("STRUCT") and reader.peek(1) == "<":
        reader.type("the schema", 0)
    else:
        reader.fields("", 0)
    if reader.peek() is not None:
        raise BadSchema(f"the schema has a '{reader.peek()}' that nothing opens")


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> str | None:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def next_is(self, word: str) -> bool:
        return (self.peek() or "").upper() == word

    def fields(self, inside: str, depth: int) -> None:
        """`name type …`, with commas between, up to the end or the bracket that closes."""
        while True:
            name = self._take()
            if name is None or not (name[0] == "`" or re.match(r"\w", name)):
                where = f"in {inside}" if inside else "in the schema"
                raise BadSchema(f"{where}, the name of a field is missing{_before(name)}")
            shown = name.strip("`").replace("``", "`")
            if self.peek() == ":":
                self._at += 1
            self.type(f"{inside}.{shown}" if inside else shown, depth)
            self._skip_what_follows()
            if self.peek() != ",":
                return
            self._at += 1

    def type(self, field: str, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise BadSchema(f"field {field} is nested too deep")
        name = self._take()
        if name is None or name in "<>(),:":
            raise BadSchema(f"field {field} has no type{_before(name)}; write one such as 'id STRING'")
        kind = name.upper()
        if kind not in TYPES:
            raise BadSchema(f"field {field}: '{name}' is no type of Spark{_nearest(kind)}")
        if kind == "STRUCT":
            self._bracket(field, kind)
            if self.peek() != ">":
                self.fields(field, depth + 1)
            self._close(field)
        elif kind in ARGUMENTS:
            self._bracket(field, kind)
            for number in range(ARGUMENTS[kind]):
                if number and self._take() != ",":
                    raise BadSchema(f"field {field}: a MAP has two types, MAP<STRING, INT>")
                self.type(field, depth + 1)
            self._close(field)
        elif self.peek() == "(":
            self._skip_parentheses(field)

    def _bracket(self, field: str, kind: str) -> None:
        if self._take() != "<":
            example = {"ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, INT>", "STRUCT": "STRUCT<a: INT>"}[kind]
            raise BadSchema(f"field {field}: {kind} says in brackets what is in it, such as {example}")

    def _close(self, field: str) -> None:
        if self._take() != ">":
            raise BadSchema(f"field {field}: a '>' is missing")

    def _skip_parentheses(self, field: str) -> None:
        while (token := self._take()) != ")":
            if token is None:
                raise BadSchema(f"field {field}: a ')' is missing")

    def _skip_what_follows(self) -> None:
        depth = 0
        while (token := self.peek()) is not None and (depth or token not in (",", ">")):
            depth += {"(": 1, ")": -1}.get(token, 0)
            self._at += 1

    def _take(self) -> str | None:
        token = self.peek()
        self._at += 1
        return token


def _before(token: str | None) -> str:
    return " at its end" if token is None else f" before '{token}'"


def _nearest(kind: str) -> str:
    near = get_close_matches(kind, TYPES, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else "; STRING, BIGINT, DOUBLE and TIMESTAMP are some"
