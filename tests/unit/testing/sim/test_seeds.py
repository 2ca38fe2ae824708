"""Which seeds are meant."""

import argparse

import pytest

from tidelog.testing.sim.__main__ import parse_seeds


def test_seeds() -> None:
    assert parse_seeds("7") == [7]
    assert parse_seeds("3, 5,10-12") == [3, 5, 10, 11, 12]


@pytest.mark.parametrize("text", ["x", "", "1-", "-3", "1,,2", "9-3"])
def test_no_seeds(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_seeds(text)
