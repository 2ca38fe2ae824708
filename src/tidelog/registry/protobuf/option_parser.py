"""Options of a `.proto` text: names, and values that may be whole messages in Protobuf's text format."""

from tidelog.registry.protobuf.elements import Entry, Kind, Option, Value
from tidelog.registry.protobuf.reading import Reader
from tidelog.registry.protobuf.tokens import TokenKind

_CLOSING = {"{": "}", "<": ">"}


def option_statement(reader: Reader) -> Option:
    """Reads `option name = value;`."""
    reader.expect("option")
    option = _assignment(reader)
    reader.expect(";")
    return option


def bracketed_options(reader: Reader) -> tuple[Option, ...]:
    """Reads `[name = value, ...]` where it stands. `default` and `json_name` come last: canonical order."""
    if not reader.take_if("["):
        return ()
    options = [_assignment(reader)]
    while reader.take_if(","):
        options.append(_assignment(reader))
    reader.expect("]")
    return tuple(sorted(options, key=_special))


def _special(option: Option) -> int:
    if option.parenthesized:
        return 0
    return {"default": 1, "json_name": 2}.get(option.name, 0)


def _assignment(reader: Reader) -> Option:
    parenthesized = reader.peek() == "("
    name = _parenthesized(reader) if parenthesized else _plain(reader)
    inner: list[str] = []
    while reader.take_if("."):
        reader.enter()
        inner.append(f"({_parenthesized(reader)})" if reader.peek() == "(" else reader.name())
    reader.expect("=")
    value = _value(reader)
    for part in reversed(inner):
        reader.leave()
        value = Value(Kind.OPTION, Option(part, value))
    return Option(name, value, parenthesized)


def _parenthesized(reader: Reader) -> str:
    reader.expect("(")
    name = reader.full_name()
    reader.expect(")")
    return name


def _plain(reader: Reader) -> str:
    """Reads `features.field_presence` as one name, up to a part in parentheses."""
    parts = [reader.name()]
    while reader.peek() == "." and reader.peek(1) != "(":
        reader.take()
        reader.enter()
        parts.append(reader.name())
    for _ in parts[1:]:
        reader.leave()
    return ".".join(parts)


def _value(reader: Reader) -> Value:
    opening = reader.peek()
    kind = reader.peek_kind()
    if kind is TokenKind.STRING:
        return Value(Kind.STRING, reader.string())
    if kind is TokenKind.NAME:
        word = reader.take().text
        return Value(Kind.BOOLEAN if word in ("true", "false") else Kind.ENUM, word)
    if kind is TokenKind.NUMBER:
        return Value(Kind.NUMBER, reader.take().text)
    if opening in ("-", "+"):
        return _signed(reader)
    if opening in _CLOSING:
        return _message(reader)
    if opening == "[":
        return _list(reader)
    reader.fail("expected the value of an option")


def _signed(reader: Reader) -> Value:
    sign = "-" if reader.take().text == "-" else ""
    if reader.peek_kind() is TokenKind.NUMBER or reader.peek() in ("inf", "nan", "infinity"):
        return Value(Kind.NUMBER, sign + reader.take().text)
    reader.fail("expected a number after its sign")


def _list(reader: Reader) -> Value:
    reader.enter()
    reader.expect("[")
    values: list[Value] = []
    while not reader.take_if("]"):
        values.append(_value(reader))
        if not reader.take_if(",") and reader.peek() != "]":
            reader.fail("expected ',' or ']'")
    reader.leave()
    return Value(Kind.LIST, tuple(values))


def _message(reader: Reader) -> Value:
    """Reads a message in text format. A key that comes again adds to its list, as Confluent keeps it."""
    reader.enter()
    closing = _CLOSING[reader.take().text]
    entries: dict[str, list[Value]] = {}
    lists: set[str] = set()
    while not reader.take_if(closing):
        key = _key(reader)
        if not reader.take_if(":") and reader.peek() not in ("{", "<", "["):
            reader.fail("expected ':'")
        value = _value(reader)
        values = entries.setdefault(key, [])
        if value.kind is Kind.LIST:
            lists.add(key)
            values.extend(value.content)  # type: ignore[arg-type]
        else:
            values.append(value)
        if not reader.take_if(","):
            reader.take_if(";")
    reader.leave()
    return Value(
        Kind.MAP,
        tuple(
            Entry(key, Value(Kind.LIST, tuple(values)) if len(values) > 1 or key in lists else values[0])
            for key, values in entries.items()
        ),
    )


def _key(reader: Reader) -> str:
    if not reader.take_if("["):
        return reader.name()
    name = reader.full_name()
    if reader.take_if("/"):  # a type URL of an Any
        name = f"{name}/{reader.full_name()}"
    reader.expect("]")
    return f"[{name}]"
