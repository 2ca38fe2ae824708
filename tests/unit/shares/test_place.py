"""The key by which the state of a share partition is placed and found, as Kafka's SharePartitionKey."""

import gc
import tracemalloc

import pytest

from tidelog.coordination.placement import partition_of_key
from tidelog.shares.place import SharePlace, coordinator_key, place_of_key

PLACE = SharePlace("workers", bytes(range(16)), 3)


def test_a_key_names_group_topic_and_partition() -> None:
    assert coordinator_key(PLACE) == "workers:AAECAwQFBgcICQoLDA0ODw:3"
    assert place_of_key(coordinator_key(PLACE)) == PLACE
    # Utils.abs("workers:AAECAwQFBgcICQoLDA0ODw:3".hashCode()) % 50, by Java
    assert partition_of_key(coordinator_key(PLACE), 50) == 6


def test_a_group_id_may_contain_colons() -> None:
    place = SharePlace("a:b::c", bytes(16), 0)
    assert place_of_key(coordinator_key(place)) == place


@pytest.mark.parametrize(
    "key",
    [
        "",
        "workers",
        "workers:3",
        ":AAECAwQFBgcICQoLDA0ODw:3",
        " :AAECAwQFBgcICQoLDA0ODw:3",
        "w:short:3",
        "w:AAECAwQFBgcICQoLDA0ODw:x",
    ],
)
def test_a_malformed_key_is_refused_in_words(key: str) -> None:
    with pytest.raises(ValueError, match="is not of the form group:topic id:partition"):
        place_of_key(key)


def test_keys_of_long_group_ids_are_not_kept() -> None:
    tracemalloc.start()
    try:
        for number in range(20):
            place = SharePlace(f"{number}\U0001f600" + "a" * 2000, bytes(16), 0)
            assert place_of_key(coordinator_key(place)) == place
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 30_000, "one of the keys has 8,000 bytes"
