"""`tidelog schema`, and consume and produce with schemas, against the registry of a real broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.command_line import Done, run_here
from tidelog.testing import Broker

ORDER = '{"type":"record","name":"Order","fields":[{"name":"number","type":"long"}]}'
WIDER = (
    '{"type":"record","name":"Order","fields":[{"name":"number","type":"long"},'
    '{"name":"note","type":["null","string"],"default":null}]}'
)
BROKEN = '{"type":"record","name":"Order","fields":[{"name":"total","type":"double"}]}'
MONEY = 'syntax = "proto3";\npackage shop;\nmessage Money { int32 cents = 1; }\n'
SALE = (
    'syntax = "proto3";\npackage shop;\nimport "shop/money.proto";\n'
    "message Sale { Money price = 1; int64 number = 2; }\n"
)


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Commands:
    """Runs commands with the broker's address and its registry's."""

    def __init__(
        self, broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.servers, self.registry_url = broker.bootstrap_servers, broker.schema_registry_url
        monkeypatch.setenv("TIDELOG_SCHEMA_REGISTRY", self.registry_url)

    def __call__(self, *arguments: object, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        given = ["-b", self.servers, *map(str, arguments)]
        return run_here(self._capsys, self._monkeypatch, given, stdin, typed)

    def at(self, broker: Broker) -> "Commands":
        return Commands(broker, self._capsys, self._monkeypatch)


@pytest.fixture
def tidelog(running: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(running, capsys, monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    written = {
        "order.avsc": ORDER, "wider.avsc": WIDER, "broken.avsc": BROKEN, "sale.proto": SALE,
        "protos/shop/money.proto": MONEY, "order.json": '{"title":"Order","type":"object"}', "none.avsc": "{",
    }  # fmt: skip
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_schema_is_registered_checked_compared_and_deleted(tidelog: Commands, files: Path) -> None:
    first = tidelog("schema", "register", "life", files / "order.avsc", "--json").json
    assert [(one["subject"], one["version"], one["is_new"]) for one in first] == [("life", 1, True)]
    assert "is already version 1" in tidelog("schema", "register", "life", files / "order.avsc").out
    assert tidelog("schema", "check", "life", files / "wider.avsc").code == 0
    checked = tidelog("schema", "check", "life", files / "broken.avsc")
    assert checked.code == 1
    assert "The field 'total'" in checked.out
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in checked.out
    refused = tidelog("schema", "register", "life", files / "broken.avsc")
    assert refused.code == 1
    assert "version 1 of 'life': The field 'total'" in refused.err
    assert tidelog("schema", "register", "life", files / "none.avsc").code == 6
    tidelog("schema", "register", "life", "-", "--type", "avro", stdin=WIDER.encode())
    assert tidelog("schema", "diff", "life").out.splitlines() == [
        "life version 1 -> life version 2: 1 added",
        "+ note: null or string, default null",
    ]
    assert '+      "name": "note",' in tidelog("schema", "diff", "life", "1", "2", "--text").out
    assert json.loads(tidelog("schema", "get", "life", "1").out) == json.loads(ORDER)
    assert tidelog("schema", "get", "life", "1", "--raw").out.strip() == ORDER
    listed = tidelog("schema", "list", "life", "--json").json
    assert [one["version"] for one in listed["versions"]] == [1, 2]
    kept = tidelog("schema", "delete", "life", "--version", "latest", typed=b"n\n")
    assert (kept.code, "Nothing was deleted" in kept.err) == (1, True)
    assert tidelog("schema", "delete", "life", "--version", "latest").out == "Deleted 'life', version 2.\n"
    assert tidelog("schema", "get", "life", "--json").json["version"] == 1
    assert tidelog("schema", "get", "life", "--deleted", "--json").json["version"] == 2
    assert tidelog("schema", "delete", "life", "--permanent", typed=b"y\n").code == 0
    assert tidelog("schema", "get", "life").code == 3


def test_a_level_is_checked_here_that_the_subject_does_not_have(tidelog: Commands, files: Path) -> None:
    tidelog("schema", "register", "levels", files / "wider.avsc")
    assert tidelog("schema", "check", "levels", files / "order.avsc", "--level", "full").code == 0
    assert tidelog("schema", "check", "levels", files / "broken.avsc", "--level", "none").code == 0
    forward = tidelog("schema", "check", "levels", files / "broken.avsc", "--level", "forward", "--json")
    assert (forward.code, forward.json["is_compatible"], forward.json["version"]) == (1, False, 1)
    first = tidelog("schema", "check", "nothing-yet", files / "order.avsc")
    assert (first.code, "would be the first version" in first.out) == (0, True)


def test_imported_files_are_registered_first(tidelog: Commands, files: Path) -> None:
    made = tidelog(
        "schema", "register", "sale", files / "sale.proto", "--with", files / "protos", "--json"
    ).json
    assert [one["subject"] for one in made] == ["shop/money.proto", "sale"]
    assert made[1]["references"] == [
        {"name": "shop/money.proto", "subject": "shop/money.proto", "version": 1}
    ]
    assert tidelog("schema", "check", "sale", files / "sale.proto", "--with", files / "protos").code == 0
    by_hand = "shop/money.proto=shop/money.proto"
    again = tidelog("schema", "register", "sale", files / "sale.proto", "--reference", by_hand)
    assert "is already version 1" in again.out
    assert tidelog("schema", "delete", "shop/money.proto").code == 6, "a schema refers to it"


def test_records_are_written_and_read_by_their_schemas(tidelog: Commands, files: Path) -> None:
    produce = ("produce", "orders", "--create-topic")
    assert tidelog(*produce, '{"number": 1}', "--value-schema", files / "wider.avsc").code == 0
    assert tidelog(*produce, '{"number": 2, "note": "x"}', "--value-subject", "orders-value").code == 0
    wrong = tidelog(*produce, '{"nomber": 2}', "--value-subject", "orders-value")
    assert (wrong.code, "'nomber' is no field of Order" in wrong.err) == (2, True)
    tidelog(*produce, "plain text")
    tidelog("schema", "register", "shop/money.proto", files / "protos/shop/money.proto")
    tidelog("schema", "register", "sale", files / "sale.proto", "--with", files / "protos")
    tidelog(*produce, '{"price": {"cents": 150}}', "--value-subject", "sale", "--key", "k")
    shown = tidelog("consume", "orders").out.splitlines()
    assert shown == [
        '{"number":1,"note":null}',
        '{"number":2,"note":"x"}',
        "plain text",
        '{"price":{"cents":150},"number":"0"}',
    ]
    line = tidelog("consume", "orders", "-n", "1", "--json").json
    assert (line["value"], line["value_schema"]["type"]) == ({"number": 1, "note": None}, "AVRO")
    assert "\\x00" in repr(tidelog("consume", "orders", "-n", "1", "--schema-registry", "off").out)


def test_a_record_that_cannot_be_decoded_is_shown_with_a_note(tidelog: Commands) -> None:
    tidelog("produce", "odd", "--create-topic", "-F", "hex", "00000f423f6162")
    done = tidelog("consume", "odd")
    assert done.out == "\0\0\x0fB?ab\n"
    assert "offset 0: the value is shown as it is: the registry has no schema 999999" in done.err
    away = tidelog("consume", "odd", "--schema-registry", "http://127.0.0.1:1")
    assert (away.code, "nothing listens there" in away.err) == (5, True)


def test_schemas_move_to_another_registry_with_their_ids(tidelog: Commands, files: Path) -> None:
    tidelog("schema", "register", "moved", files / "order.avsc")
    tidelog("schema", "register", "moved", files / "wider.avsc")
    tidelog("schema", "register", "moved-sale", files / "sale.proto", "--with", files / "protos")
    before = tidelog("schema", "list", "--prefix", "moved", "--json").json
    exported = tidelog("schema", "export", files / "out", "moved", "moved-sale", "--json").json
    assert (exported["subjects"], exported["versions"]) == (3, 4)
    manifest = json.loads((files / "out/manifest.json").read_text())
    assert [one["subject"] for one in manifest["subjects"]] == ["moved", "moved-sale", "shop/money.proto"]
    with Broker() as other:
        there = tidelog.at(other)
        planned = there("schema", "import", files / "out", "--dry-run")
        assert "4 versions would be registered" in planned.out
        assert there("schema", "list", "--json").json == []
        assert there("schema", "import", files / "out").out.startswith("4 versions registered, 0 were there")
        assert there("schema", "import", files / "out").out.startswith("0 versions registered, 4 were there")
        assert there("schema", "list", "--prefix", "moved", "--json").json == before
        assert there("schema", "list", "moved", "--json").json["mode"] == "READWRITE"
    with Broker() as other:
        there = tidelog.at(other)
        assert there("schema", "import", tidelog.registry_url).code == 0
        assert there("schema", "list", "--prefix", "moved", "--json").json == before
        there("schema", "delete", "moved", "--permanent")
        there("schema", "register", "moved", files / "order.json")
        refused = there("schema", "import", tidelog.registry_url)
        assert refused.code == 4
        assert "Nothing was imported. 'moved' version 1: it is there already with id" in refused.err


def test_a_registry_that_is_away_is_named(tidelog: Commands, files: Path) -> None:
    away = tidelog("schema", "list", "--registry", "http://127.0.0.1:1")
    assert (away.code, "http://127.0.0.1:1: nothing listens there" in away.err) == (5, True)
    kafka = tidelog("schema", "list", "--registry", f"http://{tidelog.servers}", "--timeout", "2")
    assert kafka.code == 5
    assert tidelog("schema", "check", files / "order.avsc", files / "wider.avsc").code == 0, "needs none"
