"""Where the compiled produce path is found, and where it is not used."""

import logging
import shutil
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tidelog.base.errors import TidelogError
from tidelog.broker.native import plain_produce
from tidelog.broker.native.plain_produce import CLASSES, MODULE, SOURCE, compiled_produce, source_hash
from tidelog.broker.requests.produce_shortcut import Front
from tidelog.broker.requests.reply import Reply


def extension(source: str, bind: Any = lambda *_: None) -> ModuleType:
    made: Any = ModuleType(MODULE)
    made.SOURCE, made.bind, made.produce = source, bind, lambda *_: "answered"
    return made


def find(monkeypatch: pytest.MonkeyPatch, module: ModuleType | None, choice: str = "auto") -> Any:
    """`None` in sys.modules is what Python says of a module that is not there."""
    monkeypatch.setitem(sys.modules, MODULE, module)  # type: ignore[arg-type]
    return compiled_produce(choice, Front, Reply)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for the source, without a module that was built for real."""
    monkeypatch.setattr(plain_produce, "SOURCE", Path(shutil.copy(SOURCE, tmp_path)))
    return tmp_path


@pytest.mark.usefixtures("elsewhere")
def test_a_broker_without_it_uses_python(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    assert find(monkeypatch, None) is None
    assert not caplog.records


def test_it_is_used_where_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[Any] = []
    produce = find(monkeypatch, extension(source_hash(), lambda *given: bound.append(given)))
    assert produce(None, None, 0, memoryview(b"")) == "answered"
    assert set(bound[0][0]) == {"Front", *(one.__name__ for one in CLASSES)}


def test_it_is_not_used_where_a_setting_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(monkeypatch, extension(source_hash()), "off") is None


def test_one_of_another_source_is_not_used(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        assert find(monkeypatch, extension("0123456789abcdef")) is None
    assert "made of another version of its source" in caplog.text


def test_one_that_misses_a_slot_is_not_used(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def refuse(*_: object) -> None:
        raise TypeError("PartitionLog has no slot end")

    with caplog.at_level(logging.WARNING):
        assert find(monkeypatch, extension(source_hash(), refuse)) is None
    assert "PartitionLog has no slot end" in caplog.text


def test_one_for_another_python_is_named(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, caplog: Any
) -> None:
    (elsewhere / "_plain_produce.cpython-27-x86_64-linux-gnu.so").touch()
    with caplog.at_level(logging.WARNING):
        assert find(monkeypatch, None) is None
    assert "cpython-27-x86_64-linux-gnu.so was made for another Python" in caplog.text
    with pytest.raises(TidelogError, match="so was made for another Python"):
        find(monkeypatch, None, "on")


def test_a_broken_file_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: Any) -> None:
    (tmp_path / f"_broken_produce{sysconfig.get_config_var('EXT_SUFFIX')}").write_bytes(b"\x7fELF")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plain_produce, "MODULE", "_broken_produce")
    with caplog.at_level(logging.WARNING):
        assert compiled_produce("auto", Front, Reply) is None
    assert "_broken_produce" in caplog.text
    with pytest.raises(TidelogError, match="_broken_produce"):
        compiled_produce("on", Front, Reply)


def test_one_without_its_source_is_not_used(
    monkeypatch: pytest.MonkeyPatch, elsewhere: Path, caplog: Any
) -> None:
    (elsewhere / SOURCE.name).unlink()
    with caplog.at_level(logging.WARNING):
        assert find(monkeypatch, extension("0123456789abcdef")) is None
    assert "plain_produce.c" in caplog.text


def test_one_that_names_no_source_is_not_used(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        assert find(monkeypatch, ModuleType(MODULE)) is None
    assert "made of another version of its source" in caplog.text


@pytest.mark.parametrize("module", [None, SimpleNamespace(SOURCE="0123456789abcdef")])
def test_a_broker_that_must_have_it_does_not_start_without(
    monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    with pytest.raises(TidelogError, match="TIDELOG_NATIVE=1"):
        find(monkeypatch, module, "on")


def test_every_slot_that_it_names_is_there() -> None:
    """Also where no compiler is: a renamed slot shows here."""
    named = [part.split(")")[0] for part in SOURCE.read_text().split("#define SLOTS(X)")[1].split(" X(")[1:]]
    slots = [tuple(one.split(", ")) for one in named if one.count(", ") == 1]
    classes = {one.__name__: one for one in (Front, *CLASSES)}
    assert len(slots) > 60
    for name, slot in slots:
        assert type(getattr(classes[name], slot)).__name__ == "member_descriptor"
