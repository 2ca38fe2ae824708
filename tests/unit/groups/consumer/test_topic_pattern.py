"""RE2's syntax over topic names: what matches, what is refused, and that nothing takes for ever."""

import re

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.consumer.topic_pattern import matching_topics

NAMES = [
    "orders",
    "orders-eu",
    "Orders",
    "payments.v1",
    "payments.v22",
    "a",
    "aaaa",
    "x_1",
    "__consumer_offsets",
]


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "orders",
            "orders.*",
            "order",
            ".*",
            "",
            "a*",
            "a+",
            "a?",
            "a{4}",
            "a{2,}",
            "a{1,3}",
            "(aa)+",
            "(a|aa)+",
        ),
        *("[a-z]+", "[^a-z]+", "[a-z._0-9]+", r"payments\.v\d+", r"payments\.v\d{2}", r"\w+", r"\W+", r"\D*"),
        *("orders|payments.*", "(orders|payments).*", "(?:orders)(-eu)?", "(?P<name>orders)", "(?i)ORDERS"),
        *("(?i:ORD)ers", "^orders$", r"\Aorders", r"orders\b.*", r"orders\B.*", "[]a]+", "[a-]+", r"[\d_x]+"),
        *(
            r"\x61+",
            r"\141+",
            "()",
            "(|a)",
            "a*?",
            "{",
            "x{",
            "(a*)*",
            "(a*)+",
            "((a?){3})*",
        ),
        *("é*a", "[^é]+", "(?s).+", "(?m)^a$", "(?i)x_1|(?-i)A"),
    ],
)
def test_agrees_with_python_where_both_know_the_syntax(pattern):
    expected = {name for name in NAMES if re.fullmatch(pattern.replace("(?i)x_1|(?-i)A", "x_1"), name)}
    assert matching_topics(pattern, NAMES) == expected


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        (r"[[:alpha:]]+", {"orders", "Orders", "a", "aaaa"}),
        (r"[[:^alpha:]]+", set()),
        (r"[[:upper:]][[:lower:]]+", {"Orders"}),
        (r"\pL+", {"orders", "Orders", "a", "aaaa"}),
        (r"\p{Lu}.*", {"Orders"}),
        (r"\p{Greek}+", set()),
        (r"\PL.*", {"__consumer_offsets"}),
        (r"\Qpayments.v\E.", {"payments.v1"}),
        (r"\Qa\E+", {"a", "aaaa"}),
        (r"a\z", {"a"}),
        (r"(?<part>a)+", {"a", "aaaa"}),
        (r"(?U)a+?", {"a", "aaaa"}),
        (r"x\C1", {"x_1"}),
        (r"\x{61}", {"a"}),
        ("a{,2}", set()),
        ("[[-a]+", {"a", "aaaa"}),
    ],
)
def test_what_only_re2_knows(pattern, matching):
    assert matching_topics(pattern, NAMES) == matching


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            ")",
            "a)",
            "(a",
            "[",
            "[a",
            "[z-a]",
            "*",
            "a|*",
            "+a",
            "a**",
            "a*+",
            "a{2}{3}",
            "a{1001}",
            "a{3,2}",
        ),
        *(
            r"(a)\1",
            r"\8",
            "(?=a)",
            "(?!a)",
            "(?<=a)b",
            "(?<!a)b",
            "(?>a)",
            "(?z)",
            "(?P<1>a)",
            "(?P=n)",
            "(?",
        ),
        *(
            "\\",
            r"\y",
            r"\Z",
            r"\p{Nonsense}",
            r"\p",
            "[[:nonsense:]]",
            r"\x",
            r"\x{}",
            r"\x{110000}",
            "[a\\",
        ),
        *("(" * 200 + ")" * 200, "a" * 5000, "(a{1000}){1000}", "(?P<a"),
    ],
)
def test_what_re2_refuses_is_refused(pattern):
    with pytest.raises(KafkaError) as refused:
        matching_topics(pattern, NAMES)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*)*b", "(a*)*(a*)*(a*)*b", "(a?){100}a{100}"])
def test_what_takes_python_for_ever_takes_a_moment(pattern):
    assert matching_topics(pattern, ["a" * 249]) == frozenset()


def test_an_expression_that_is_too_much_work_is_refused_instead_of_done():
    names = [format(number, "012b").replace("0", "a").replace("1", "b") * 20 for number in range(4096)]
    with pytest.raises(KafkaError, match="takes too long"):
        matching_topics("(a|b)*a(a|b){200}", names)
