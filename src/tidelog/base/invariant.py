"""Stop on our own bugs. `assert` vanishes under `python -O`; this does not."""

from typing import NoReturn


class InvariantError(AssertionError):
    """Tidelog's own sequencing went wrong; going on could corrupt data."""


def invariant(holds: object, what: str, **facts: object) -> None:
    if not holds:
        broken(what, **facts)


def broken(what: str, **facts: object) -> NoReturn:
    shown = ", ".join(f"{name}={value!r}" for name, value in facts.items())
    raise InvariantError(f"{what} ({shown})" if shown else what)
