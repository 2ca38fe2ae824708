"""The man pages and completions are those of the commands, and odd texts do not become requests of roff."""

from tools import man_pages
from tools.pages import stale_pages


def test_pages_and_completions_are_fresh() -> None:
    assert not stale_pages(man_pages.PAGES), "run: make docs"


def test_a_page_that_no_command_has_is_gone() -> None:
    written = {path for path in man_pages.SHARE.rglob("*") if path.is_file()}
    assert written == set(man_pages.PAGES)


def test_a_page_holds_the_commands_below_its_own() -> None:
    page = man_pages.man_page("topic")
    assert ".SH TIDELOG TOPIC CREATE" in page
    assert "\\-\\-partitions" in page
    assert ".BR tidelog (1)" in page


def test_texts_that_roff_would_take_for_its_own() -> None:
    assert man_pages._line(".TH is no request \\n") == "\\&.TH is no request \\en"
    assert man_pages._line("`a-b` …", markup=True) == "\\fBa\\-b\\fR \\[u2026]"
