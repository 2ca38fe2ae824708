import pytest

from tidelog.storage.log_dir import checkpoint_text

LINES = ["orders 0 1204", "orders 1 977"]


def test_kafka_reads_it_as_its_own() -> None:
    """Its reader splits lines at white space, and wants a number alone in the first two."""
    version, count, *lines = checkpoint_text.dump(LINES).decode().removesuffix("\n").split("\n")
    assert (version, count) == ("0", "2")
    assert [line.split() for line in lines] == [line.split() for line in LINES]


def test_what_kafka_wrote_has_no_checksum_and_is_taken_as_it_is() -> None:
    raw = b"0\n2\norders 0 1204\norders 1 977\n"
    assert checkpoint_text.load(raw) == LINES
    assert not checkpoint_text.has_checksum(raw)


@pytest.mark.parametrize("lines", [[], ["9 10"], LINES])
def test_every_flipped_bit_is_noticed(lines: list[str]) -> None:
    raw = checkpoint_text.dump(lines)
    assert checkpoint_text.load(raw) == lines
    assert checkpoint_text.has_checksum(raw) == bool(lines)
    for at in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(ValueError, match=r"."):
            checkpoint_text.load(bytes(flipped))


def test_a_truncated_file_is_noticed() -> None:
    raw = checkpoint_text.dump(LINES)
    for length in range(len(raw)):
        with pytest.raises(ValueError, match=r"."):
            checkpoint_text.load(raw[:length])
