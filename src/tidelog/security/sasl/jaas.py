"""Kafka's `sasl.jaas.config`: a login module by its Java class, a control flag, options, and a semicolon.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="broker" password="..." user_broker="..." user_alice="...";

Existing configurations carry these texts, so they are read here without Java. Nearly every value is a
secret: no error shows any part of the text but the names of classes and options.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from tidelog.base.errors import TidelogError

TEXT_CHARS_MAX = 1024 * 1024
_FLAGS = ("required", "requisite", "sufficient", "optional")
_USER = "user_"
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<mark>[=;])
    |(?P<word>[^\s"'=;]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$][\w.$-]{0,200}", re.ASCII)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasError(TidelogError):
    """The text is not understood. The message never holds a value of it."""


class LoginModuleKind(Enum):
    """By the Java class that a configuration names."""

    PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
    SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
    OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

    @classmethod
    def of_mechanism(cls, mechanism: str) -> "LoginModuleKind | None":
        """The module for a SASL mechanism such as SCRAM-SHA-256; None for a mechanism that is not offered."""
        return cls.__members__.get("SCRAM" if mechanism.startswith("SCRAM-") else mechanism)


class LoginModule(NamedTuple):
    kind: LoginModuleKind
    options: Mapping[str, str]

    @property
    def username(self) -> str | None:
        """The user as which this process logs in elsewhere; a broker at the other brokers."""
        return self.options.get("username")

    @property
    def password(self) -> str | None:
        return self.options.get("password")

    @property
    def is_token(self) -> bool:
        """Whether user name and password are the id and HMAC of a delegation token."""
        return self.options.get("tokenauth", "").lower() == "true"

    @property
    def users(self) -> Mapping[str, str]:
        """The passwords of `user_<name>` entries: users that the broker takes by PLAIN."""
        return {
            name.removeprefix(_USER): value for name, value in self.options.items() if name.startswith(_USER)
        }

    def __repr__(self) -> str:
        return f"LoginModule({self.kind.name}, {', '.join(sorted(self.options))})"  # values are secrets


def parse_jaas(text: str) -> LoginModule:
    """Read the one login module of a `sasl.jaas.config`. Raises JaasError."""
    modules = parse_modules(text)
    if len(modules) != 1:
        raise JaasError(
            f"sasl.jaas.config has {len(modules)} login modules; write exactly one, with ; behind"
        )
    return modules[0]


def parse_modules(text: str) -> list[LoginModule]:
    """Read every login module of a text, for clients that list several. Raises JaasError."""
    if len(text) > TEXT_CHARS_MAX:
        raise JaasError(f"sasl.jaas.config has {len(text)} characters; the limit is {TEXT_CHARS_MAX}")
    modules = []
    statement: list[_Token] = []
    for token in _tokens(text):
        if token.is_mark(";"):
            modules.append(_module(statement))
            statement = []
        else:
            statement.append(token)
    if statement:
        raise JaasError("sasl.jaas.config has no ; at the end of a login module; add it")
    return modules


class _Token(NamedTuple):
    kind: str
    text: str

    def is_mark(self, mark: str) -> bool:
        return self.kind == "mark" and self.text == mark


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise JaasError(f"sasl.jaas.config has a quote in line {line} that does not end on that line")
        at, kind = found.end(), str(found.lastgroup)
        if kind == "quoted":
            yield _Token(kind, _ESCAPE.sub(_unescaped, found[0][1:-1]))
        elif kind != "skipped":
            yield _Token(kind, found[0])


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPED.get(code, code)


def _module(statement: list[_Token]) -> LoginModule:
    if len(statement) < 2 or statement[1].text.lower() not in _FLAGS:
        raise JaasError(
            "sasl.jaas.config: a login module begins with its class and a control flag, such as "
            f"{LoginModuleKind.PLAIN.value} required"
        )
    options: dict[str, str] = {}
    rest = statement[2:]
    for number in range(0, len(rest), 3):
        match rest[number : number + 3]:
            case [name, equals, value] if _is_name(name) and equals.is_mark("=") and value.kind != "mark":
                if name.text in options:
                    raise JaasError(f"sasl.jaas.config names the option {name.text} twice")
                options[name.text] = value.text
            case _:
                raise JaasError(
                    f'sasl.jaas.config: option {number // 3 + 1} is not of the form name="value"'
                    + (f"; it follows {list(options)[-1]}" if options else "")
                )
    return LoginModule(_kind(statement[0].text), options)


def _is_name(token: _Token) -> bool:
    """User names beyond plain words are quoted whole: "user_name with spaces"="..."."""
    return token.kind == "quoted" or (token.kind == "word" and len(token.text) <= 256)


def _kind(class_name: str) -> LoginModuleKind:
    try:
        return LoginModuleKind(class_name)
    except ValueError:
        known = ", ".join(kind.value for kind in LoginModuleKind)
        shown = class_name if _NAME.fullmatch(class_name) else "a text that is no class"
        raise JaasError(
            f"sasl.jaas.config names {shown} as its login module; known ones are {known}"
        ) from None
