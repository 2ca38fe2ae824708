"""docs/reference/metrics.md lists every metric as the table has it."""

from tidelog.metrics.catalogue import FAMILIES
from tools.metrics_reference import PAGE, page
from tools.pages import stale_pages


def test_the_page_is_what_the_table_says() -> None:
    assert not stale_pages({PAGE: page}), "run: make docs"


def test_every_metric_is_on_it_and_every_name_of_kafka() -> None:
    text = page()
    for family in FAMILIES.values():
        assert f"| `{family.name}` | {family.kind.value} |" in text
        assert (
            not family.kafka or f"| `{family.kafka.replace('|', chr(92) + '|')}` | `{family.name}` |" in text
        )
