"""From the subject of a client certificate to a principal: Kafka's `ssl.principal.mapping.rules`.

The first `RULE:pattern/replacement/[LU]` whose pattern matches the whole name applies: the groups stand in
for `$1` to `$9`, and the result may become lower or upper case. `DEFAULT` is the distinguished name as it is.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tidelog.base.errors import TidelogError

_RULES = re.compile(r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_GROUP = re.compile(r"\$(\d)")

_SHORT_NAMES = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_ESCAPED = re.compile(r'([,+"\\<>;])')

Subject = Sequence[Sequence[tuple[str, str]]]
"""As `ssl.SSLSocket.getpeercert` has it: the parts of the name, the most general first."""


class InvalidMappingRules(TidelogError):
    """`ssl.principal.mapping.rules` cannot be read."""


class MappingRule(NamedTuple):
    pattern: re.Pattern[str]
    replacement: str
    change_case: Callable[[str], str]


def parse_rules(text: str) -> tuple[MappingRule | None, ...]:
    """None stands for DEFAULT."""
    rules: list[MappingRule | None] = []
    rest = text.strip() or "DEFAULT"
    while rest:
        found = _RULES.match(rest)
        if found is None:
            raise InvalidMappingRules(
                f"ssl.principal.mapping.rules cannot be read from {rest!r} on: write DEFAULT or "
                "RULE:pattern/replacement/ (with L or U behind it), with commas between the rules."
            )
        rules.append(None if found[1] else _rule(found[2], found[3], found[4]))
        rest = rest[found.end() :].lstrip()
        if rest and not rest.startswith(","):
            raise InvalidMappingRules(f"ssl.principal.mapping.rules lacks a comma before {rest!r}.")
        rest = rest[1:].lstrip()
    return tuple(rules)


def distinguished_name(subject: Subject) -> str:
    """The name as Java prints it (RFC 2253): the most specific part first, `CN=alice,OU=data,O=Example`."""
    parts = [
        "+".join(f"{_SHORT_NAMES.get(kind, kind)}={_escaped(value)}" for kind, value in part)
        for part in subject
    ]
    return ",".join(reversed(parts))


def principal_name(rules: Sequence[MappingRule | None], name: str) -> str | None:
    """The user that a distinguished name stands for; None where no rule takes it."""
    for rule in rules:
        if rule is None:
            return name
        match = rule.pattern.fullmatch(name)
        if match is not None:
            return rule.change_case(_replaced(rule.replacement, match))
    return None


def _replaced(replacement: str, match: re.Match[str]) -> str:
    return _GROUP.sub(lambda group: match[int(group[1])] or "", replacement)


def _rule(pattern: str, replacement: str, case: str) -> MappingRule:
    try:
        compiled = re.compile(pattern.replace("\\/", "/"))
    except re.error as error:
        raise InvalidMappingRules(
            f"ssl.principal.mapping.rules: {pattern!r} is no pattern: {error}"
        ) from error
    highest = max((int(number) for number in _GROUP.findall(replacement)), default=0)
    if highest > compiled.groups:
        raise InvalidMappingRules(f"ssl.principal.mapping.rules: {pattern!r} has no group ${highest}.")
    change_case: Callable[[str], str] = {"L": str.lower, "U": str.upper}.get(case, str)
    return MappingRule(compiled, replacement, change_case)


def _escaped(value: str) -> str:
    escaped = _ESCAPED.sub(r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if escaped.endswith(" ") and len(escaped) > 1 else escaped
