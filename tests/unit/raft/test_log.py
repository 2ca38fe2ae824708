"""The log in memory, against a plain list of what the disk would hold."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.raft.entries import NO_INDEX, NO_TERM, Entry, EntryKind
from tidelog.raft.log import RaftLog


def entries(*terms: int) -> list[Entry]:
    return [Entry(term, EntryKind.DATA, b"%d" % place) for place, term in enumerate(terms)]


def log_of(*terms: int) -> RaftLog:
    return RaftLog(NO_INDEX, NO_TERM, entries(*terms))


def test_an_empty_log_ends_before_the_first_index() -> None:
    log = log_of()
    assert (log.last_index, log.last_term) == (NO_INDEX, NO_TERM)
    assert log.term_at(NO_INDEX) == NO_TERM
    assert log.term_at(0) is None


def test_a_vote_is_for_a_later_term_or_a_longer_log_of_the_same() -> None:
    log = log_of(1, 1, 2)
    assert log.is_up_to_date(2, 2)
    assert log.is_up_to_date(0, 3)
    assert log.is_up_to_date(3, 2)
    assert not log.is_up_to_date(1, 2)
    assert not log.is_up_to_date(9, 1)


def test_hints_skip_whole_terms() -> None:
    log = log_of(1, 1, 3, 3, 3, 4)
    assert log.first_of_term(4) == 2
    assert log.first_of_term(1) == 0
    assert log.last_up_to_term(5, 3) == 4
    assert log.last_up_to_term(99, 2) == 1
    assert log.last_up_to_term(5, 0) == NO_INDEX


def test_a_batch_has_at_least_one_entry_however_large() -> None:
    log = RaftLog(NO_INDEX, NO_TERM, [Entry(1, EntryKind.DATA, b"x" * 1000), *entries(1, 1)])
    assert len(log.batch(0, 10, 9)[0]) == 1
    assert len(log.batch(1, 10, 9)[0]) == 1
    assert len(log.batch(1, 99, 9)[0]) == 2
    assert len(log.batch(1, 99, 1)[0]) == 1


def test_compaction_keeps_a_tail_within_both_bounds() -> None:
    log = log_of(1, 1, 1, 1, 2, 2)
    log.compact(4, keep_entries=2, keep_bytes=1000)
    assert (log.base_index, log.base_term) == (2, 1)
    log.compact(4, keep_entries=2, keep_bytes=0)
    assert (log.base_index, log.base_term) == (4, 2)
    assert log.term_at(3) is None
    log.compact(3, keep_entries=0, keep_bytes=0)
    assert log.base_index == 4


def test_what_was_truncated_while_it_was_written_is_not_taken_for_synced() -> None:
    log = log_of(1)
    log.append(entries(1, 1, 1))
    assert log.take_unwritten()[1] == 1
    log.truncate_from(2)
    log.append(entries(2))
    log.mark_synced(3)
    assert log.stable == 1
    truncate_from, first, fresh = log.take_unwritten()
    assert (truncate_from, first, [entry.term for entry in fresh]) == (2, 2, [2])


actions = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("truncate"), st.integers(0, 5)),
        st.tuples(st.just("write"), st.just(0)),
        st.tuples(st.just("sync"), st.just(0)),
        st.tuples(st.just("compact"), st.integers(0, 5)),
    ),
    max_size=30,
)


@settings(max_examples=150)
@given(actions)
def test_the_disk_ends_up_with_the_same_entries(steps: list[tuple[str, int]]) -> None:
    log = log_of()
    model: list[Entry] = []
    disk: list[Entry] = []
    written = -1
    for term, (action, amount) in enumerate(steps, 1):
        if action == "append":
            log.append(entries(*[term] * amount))
            model += entries(*[term] * amount)
        elif action == "truncate" and log.last_index - amount > log.base_index:
            log.truncate_from(log.last_index - amount)
            del model[len(model) - amount - 1 :]
        elif action == "write":
            truncate_from, first, fresh = log.take_unwritten()
            if truncate_from is not None:
                del disk[truncate_from:]
            assert first == len(disk) or not fresh
            disk += fresh
            written = len(disk) - 1
        elif action == "sync":
            log.mark_synced(written)
        elif action == "compact":
            log.compact(min(log.stable, log.base_index + amount), keep_entries=0, keep_bytes=0)
        assert log.base_index <= log.stable <= log.written <= log.last_index == len(model) - 1
        assert disk[: log.stable + 1] == model[: log.stable + 1]
        assert log.between(log.base_index + 1, log.last_index) == model[log.base_index + 1 :]
