"""docs/scaling.md: its tables are what the model of `tidelog plan` computes now."""

from dataclasses import replace

import pytest

from tidelog.cli.plan.busy import busy
from tidelog.cli.plan.needs import BUSY_MAX
from tools.pages import stale_pages
from tools.scaling_tables import GIVEN, MACHINES, PAGE, TABLES, carried, mark, page


def test_the_page_is_what_the_model_says() -> None:
    assert not stale_pages({PAGE: page}), "run: make docs"


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_on_the_page(name: str) -> None:
    begin, end = mark(name)
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(begin) == text.count(end) == 1
    assert TABLES[name]() in text


def test_what_machines_carry_keeps_their_cores_busy_to_the_limit() -> None:
    rate = carried(replace(GIVEN, cores=16))
    found = busy(replace(GIVEN, cores=16, messages_per_second=rate), MACHINES)
    assert found.cores / MACHINES / 16 == pytest.approx(BUSY_MAX, rel=0.001)
