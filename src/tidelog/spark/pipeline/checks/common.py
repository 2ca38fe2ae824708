"""Checks that several parts of a spec share: names, durations, schemas, and keys that exclude each other."""

import re
from collections.abc import Sequence

from tidelog.spark.pipeline.checking import Checker
from tidelog.spark.pipeline.faults import nearest
from tidelog.spark.pipeline.lines import Place
from tidelog.spark.pipeline.spec import Watermark
from tidelog.spark.values.ddl import check_ddl
from tidelog.spark.values.errors import BadSchema

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
DURATION = re.compile(r"\d+(\.\d+)? *(millisecond|second|minute|hour|day)s?\Z", re.IGNORECASE)


def check_ddl_text(text: str | None, place: Place, checker: Checker) -> None:
    try:
        if text is not None:
            check_ddl(text)
    except BadSchema as error:
        checker.add(place, str(error))


def check_watermark(watermark: Watermark | None, place: Place, checker: Checker) -> None:
    if watermark is not None:
        check_duration(watermark.delay, (*place, "watermark", "delay"), checker)


def check_duration(text: str | None, place: Place, checker: Checker) -> None:
    if text is not None and not DURATION.match(text):
        checker.add(place, f"'{text}' is no duration such as '10 seconds' or '5 minutes'")


def check_name(name: str, known: Sequence[str], place: Place, checker: Checker) -> None:
    if not IDENTIFIER.match(name):
        checker.add(place, f"'{name}' is no name for SQL: letters, digits and '_', no digit first")
    if name in known:
        checker.add(place, f"the name '{name}' is taken by a frame above")


def check_known(names: Sequence[str], known: Sequence[str], place: Place, checker: Checker) -> None:
    for name in names:
        if name not in known:
            checker.add(place, f"no source or step above is called '{name}'{nearest(name, known)}")


def one_of(struct: object, keys: Sequence[str], place: Place, checker: Checker) -> str | None:
    given = [key for key in keys if getattr(struct, key) not in (None, False)]
    if len(given) == 1:
        return given[0]
    said = "has none of" if not given else f"has {' and '.join(given)}, and may have only one of"
    checker.add(place, f"{said} {', '.join(keys)}")
    return None
