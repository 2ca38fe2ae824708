import pytest

from tidelog.base.listener import Listener, check_advertised, check_listeners, parse_listener


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://localhost:9092", Listener("PLAINTEXT", "localhost", 9092)),
        ("internal://:0", Listener("INTERNAL", "", 0)),
        ("V6://[::1]:9092", Listener("V6", "::1", 9092)),
        ("LINK://[fe80::1%eth0]:9092", Listener("LINK", "fe80::1%eth0", 9092)),
    ],
)
def test_listeners_are_read_and_shown(text: str, listener: Listener) -> None:
    assert parse_listener(text) == listener
    assert parse_listener(str(listener)) == listener


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("localhost:9092", "write NAME://host:port"),
        ("PLAINTEXT://localhost", "write NAME://host:port"),
        ("PLAINTEXT://::1:9092", "write NAME://host:port"),
        ("PLAINTEXT://h:70000", "above 65535"),
    ],
)
def test_what_is_no_listener_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_listener(text)


def test_names_and_addresses_are_unique() -> None:
    assert check_listeners(("A://h:1", "B://h:2")) is None
    assert check_listeners(("A://h:0", "B://h:0")) is None
    assert "same name" in (check_listeners(("A://h:1", "a://h:2")) or "")
    assert "same address" in (check_listeners(("A://h:1", "B://h:1")) or "")
    assert "at least one" in (check_listeners(()) or "")


def test_clients_are_never_sent_to_every_interface() -> None:
    assert check_advertised(None) is None
    assert check_advertised(("A://h:1", "B://h:1")) is None
    for host in ("", "0.0.0.0", "[::]"):
        assert "cannot connect" in (check_advertised((f"A://{host}:1",)) or "")
