"""The runbooks: a page for each alert. A wheel has them in the package, a checkout among the docs."""

from pathlib import Path

_IN_WHEEL = Path(__file__).parent / "runbook_pages"
_IN_CHECKOUT = Path(__file__).parents[3] / "docs" / "runbooks"


def runbooks() -> dict[str, Path]:
    """Returns the page of each alert by the alert's name."""
    directory = _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_CHECKOUT
    return {path.stem: path for path in sorted(directory.glob("Tidelog*.md"))}
