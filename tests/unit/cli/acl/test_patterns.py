"""What is literal, what is a prefix, and what is refused."""

import pytest

from tidelog.cli.acl.patterns import parse_pattern, pattern_text, pattern_words
from tidelog.security.acls.vocabulary import PatternType

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


@pytest.mark.parametrize(
    ("text", "pattern", "words"),
    [
        ("orders", (LITERAL, "orders"), "'orders' only"),
        ("orders.*", (PREFIXED, "orders."), "names that begin with 'orders.'"),
        ("analyst-*", (PREFIXED, "analyst-"), "names that begin with 'analyst-'"),
        ("*", (LITERAL, "*"), "every name"),
        ("my group", (LITERAL, "my group"), "'my group' only"),
    ],
)
def test_patterns(text, pattern, words) -> None:
    assert parse_pattern(text) == pattern
    assert pattern_text(*pattern) == text
    assert pattern_words(*pattern) == words


@pytest.mark.parametrize(
    "text", ["", "**", "*orders", "or*rs", "orders?", "orders[12]", "^orders$", "a|b", "a,b"]
)
def test_other_wildcards_are_refused(text) -> None:
    with pytest.raises(ValueError, match=r"wildcards|missing"):
        parse_pattern(text)
