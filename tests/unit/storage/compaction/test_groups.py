from dataclasses import replace

from tidelog.storage.compaction.groups import Source, group
from tidelog.storage.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=1000)


def sources(*sizes, width=10):
    return [
        Source(None, number * width, (number + 1) * width, size, f"/{number}")
        for number, size in enumerate(sizes)
    ]


def sizes(groups):
    return [[source.size for source in members] for members in groups]


def test_neighbours_share_a_segment_while_they_fit():
    assert sizes(group(sources(500, 500, 1, 999, 10, 2000, 30), CONFIG)) == [
        [500, 500],
        [1, 999],
        [10],
        [2000],
        [30],
    ]


def test_empty_segments_join_anything():
    assert sizes(group(sources(0, 1000, 0, 0), CONFIG)) == [[0, 1000, 0, 0]]


def test_the_indexes_must_fit_too():
    config = replace(CONFIG, segment_bytes=1 << 30, index_interval_bytes=100, index_bytes_max=12 * 11)
    assert sizes(group(sources(500, 500, 100), config)) == [[500, 500], [100]]


def test_offsets_relative_to_the_base_must_fit_31_bits():
    assert sizes(group(sources(1, 1, 1, width=2**30), CONFIG)) == [[1, 1], [1]]


def test_nothing_gives_nothing():
    assert group([], CONFIG) == []
