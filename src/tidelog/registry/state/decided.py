"""What a decision on the registry comes to: records for the log, and the answer that they stand for."""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from tidelog.coordination.decision import StateRecord
from tidelog.registry import subjects
from tidelog.registry.state.records import (
    ConfigKey,
    Key,
    ModeKey,
    SchemaKey,
    encode_key,
    highest_ids_record,
)
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import Place

AnswerT = TypeVar("AnswerT")


class Decided(NamedTuple, Generic[AnswerT]):
    answer: AnswerT
    records: tuple[StateRecord, ...] = ()


def tombstones(state: RegistryState, keys: Iterable[Key]) -> list[StateRecord]:
    """Returns a tombstone for each spelling of each key that the log has."""
    own = [encode_key(key) for key in keys]
    return [StateRecord(spelling, None) for key in own for spelling in (key, *state.odd_keys.get(key, ()))]


def gone_for_good(state: RegistryState, places: Iterable[Place]) -> list[StateRecord]:
    """Returns the records that hard-delete versions.

    The highest ids are written with them: once the versions are compacted away, no other record says that
    their ids were given.
    """
    highest = {context: ids.highest_id for context, ids in state.contexts.items()}
    deletions = tombstones(state, (SchemaKey(*place) for place in places))
    if deletions and highest != state.saved_highest_ids:
        deletions.insert(0, highest_ids_record(highest))
    return deletions


def settings_gone(state: RegistryState, subject: str) -> list[StateRecord]:
    """Returns the records that delete the configuration and the mode of a subject that is gone for good.

    Those of a subject without a name (`:.staging:`) belong to its whole context, and stay.
    """
    keys: list[Key] = []
    if not subjects.split(subject).name:
        return []
    if subject in state.modes:
        keys.append(ModeKey(subject))
    if subject in state.configs:
        keys.append(ConfigKey(subject))
    return tombstones(state, keys)
