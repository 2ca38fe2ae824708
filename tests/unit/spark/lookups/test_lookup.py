"""A lookup file that changes: the newest version that can be read, and never half of one."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.spark.lookups.files import BadLookup, read_lookup
from tidelog.spark.lookups.lookup import LookupFile

NOW = 2e9
SCHEMA = pa.schema([("country", pa.string()), ("vat", pa.float64())])


class Lookup:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "countries.csv"
        self.copies = directory / "copies"
        self.changes = 0

    def write(self, text: str, *, age_s: float = 60) -> None:
        self.changes += 1
        self.path.write_text(text)
        at_ns = int((NOW - age_s) * 1e9) + self.changes
        os.utime(self.path, ns=(at_ns, at_ns))

    def file(self) -> LookupFile:
        return LookupFile(self.path, SCHEMA, {}, self.copies, lambda: NOW)

    def vat(self) -> dict[str, float]:
        """As a worker that knows nothing sees it."""
        rows = self.file().table().to_pylist()
        return {row["country"]: row["vat"] for row in rows}


@pytest.fixture
def lookup(tmp_path: Path) -> Lookup:
    return Lookup(tmp_path)


def test_a_change_is_seen(lookup: Lookup) -> None:
    lookup.write("country,vat\nDE,0.19\n")
    assert lookup.vat() == {"DE": 0.19}
    lookup.write("country,vat\nDE,0.16\nFR,0.2\n")
    assert lookup.vat() == {"DE": 0.16, "FR": 0.2}


def test_a_change_of_a_moment_ago_is_seen_later(lookup: Lookup) -> None:
    lookup.write("country,vat\nDE,0.19\n", age_s=0.1)
    assert lookup.vat() == {"DE": 0.19}  # there is no other
    lookup.write("country,vat\n", age_s=0.1)
    assert lookup.vat() == {"DE": 0.19}
    lookup.write("country,vat\nFR,0.2\n", age_s=1)
    assert lookup.vat() == {"FR": 0.2}


@pytest.mark.parametrize("bad", ["country,v", "country,vat\nDE,a lot\n", "", "country,vat\nDE,1,2\n"])
def test_what_cannot_be_read_is_passed_over(
    lookup: Lookup, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    lookup.write("country,vat\nDE,0.19\n")
    assert lookup.vat() == {"DE": 0.19}
    lookup.write(bad)
    assert lookup.vat() == {"DE": 0.19}
    assert "the previous version stays in use" in caplog.text
    lookup.path.unlink()
    assert lookup.vat() == {"DE": 0.19}
    assert "No such file" in caplog.text
    lookup.write("country,vat\nFR,0.2\n")
    assert lookup.vat() == {"FR": 0.2}


def test_why_the_newest_version_is_not_used(lookup: Lookup) -> None:
    file = lookup.file()
    lookup.write("country,vat\nDE,0.19\n")
    assert file.complaint() is None
    assert lookup.vat() == {"DE": 0.19}
    lookup.write("country\n", age_s=0.1)
    assert file.complaint() is None  # it may still be in the midst of being written
    lookup.write("country\nDE\n")
    assert "has no column vat; it has country" in str(file.complaint())
    lookup.path.unlink()
    assert "No such file" in str(file.complaint())
    assert lookup.vat() == {"DE": 0.19}
    file.forget()
    with pytest.raises(BadLookup):
        lookup.vat()


def test_without_any_version_it_is_an_error(lookup: Lookup) -> None:
    with pytest.raises(BadLookup, match=r"cannot read .*: No such file"):
        lookup.vat()
    lookup.write("country\nDE\n")
    with pytest.raises(BadLookup, match="has no column vat; it has country"):
        lookup.vat()


def test_a_file_that_changes_while_it_is_read(lookup: Lookup, monkeypatch: pytest.MonkeyPatch) -> None:
    lookup.write("country,vat\nDE,0.19\n")
    lookup.vat()
    lookup.write("country,vat\nFR,0.2\n")
    read = Path.read_bytes

    def read_late(path: Path) -> bytes:
        found = read(path)
        if path == lookup.path:
            lookup.write("country,vat\nFR,0.2\nPL,0.23\n")
        return found

    monkeypatch.setattr(Path, "read_bytes", read_late)
    assert lookup.vat() == {"DE": 0.19}
    monkeypatch.undo()
    assert lookup.vat() == {"FR": 0.2, "PL": 0.23}


def read(name: str, data: bytes, schema: pa.Schema | None = None, **options: str) -> Any:
    return read_lookup(Path(name), data, schema, options)


def test_the_kinds_of_files(tmp_path: Path) -> None:
    at = datetime(2026, 1, 2, 3, tzinfo=UTC)
    wanted = [{"a": "x", "n": 1, "at": at}, {"a": None, "n": 2, "at": None}]
    lines = b'{"a":"x","n":1,"at":"2026-01-02T03:00:00Z"}\n{"n":2}\n'
    assert read("f.jsonl", lines).to_pylist() == wanted
    assert read("f.csv", b"a,n,at\nx,1,2026-01-02T03:00:00Z\n,2,\n").to_pylist() == wanted
    assert (
        read("f.csv", b"a;n;at\nx;1;2026-01-02 03:00:00\n-;2;-\n", sep=";", nullValue="-").to_pylist()
        == wanted
    )
    pq.write_table(read("f.jsonl", lines), tmp_path / "f.parquet")
    assert read("f.parquet", (tmp_path / "f.parquet").read_bytes()).to_pylist() == wanted


def test_a_schema_wins_over_what_a_file_looks_like() -> None:
    schema = pa.schema([("n", pa.string()), ("at", pa.timestamp("us", tz="UTC"))])
    [row] = read("f.csv", b"other,at,n\n1,2026-01-02,007\n", schema).to_pylist()
    assert row == {"n": "007", "at": datetime(2026, 1, 2, tzinfo=UTC)}
    with pytest.raises(BadLookup, match="is not as it has to be"):
        read("f.json", b"{", schema)
