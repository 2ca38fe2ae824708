"""Decides on configurations and modes: of a subject, of a context, or of everything."""

from collections.abc import Mapping
from typing import Any

from tidelog.registry import subjects
from tidelog.registry.config import Config, changed
from tidelog.registry.mode import Mode
from tidelog.registry.state import refusals
from tidelog.registry.state.decided import Decided, gone_for_good, tombstones
from tidelog.registry.state.deleting import check_writable
from tidelog.registry.state.lookups import mode_in_scope, referring
from tidelog.registry.state.records import ConfigKey, ModeKey, config_record, mode_record
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion


def change_config(state: RegistryState, scope: str | None, changes: Mapping[str, Any]) -> Decided[Config]:
    """Returns the configuration of the scope as it is then. `changes` are those of
    `config.checked_changes`."""
    check_writable(state, scope)
    config = changed(state.configs.get(scope, {}), changes)
    return Decided(config, (config_record(scope, config),))


def delete_config(state: RegistryState, scope: str | None) -> Decided[Config | None]:
    """Returns the configuration that is gone; None: the scope had none."""
    check_writable(state, scope)
    before = state.configs.get(scope)
    return Decided(before, () if before is None else tuple(tombstones(state, [ConfigKey(scope)])))


def change_mode(state: RegistryState, scope: str | None, mode: Mode, *, force: bool = False) -> Decided[Mode]:
    """Change a mode. A change to IMPORT forgets what is soft-deleted, and needs that nothing else is there
    (`force`: or that it stays)."""
    replaced: list[StoredVersion] = []
    if mode is Mode.IMPORT and mode_in_scope(state, scope) is not Mode.IMPORT and not force:
        replaced = _within(state, scope)
        if any(not stored.deleted for stored in replaced):
            raise refusals.not_permitted(
                "Cannot import since found existing subjects. Delete them, import into another "
                "context, or set "
                "force=true to keep them."
            )
        for stored in replaced:
            if referring(state, stored.place, deleted=True):
                raise refusals.referenced(*stored.place)
    gone = gone_for_good(state, [stored.place for stored in replaced])
    return Decided(mode, (*gone, mode_record(scope, mode)))


def delete_mode(state: RegistryState, scope: str | None, *, recursive: bool = False) -> Decided[Mode | None]:
    """Returns the mode that is gone; None: the scope had none. `recursive`: of a context, also its
    subjects'."""
    scopes = [scope] if scope in state.modes else []
    if recursive and (scope is None or not subjects.split(scope).name):
        context = subjects.DEFAULT_CONTEXT if scope is None else subjects.context_of(scope)
        scopes += [
            one
            for one in state.modes
            if one is not None and one != scope and subjects.context_of(one) == context
        ]
    return Decided(state.modes.get(scope), tuple(tombstones(state, (ModeKey(one) for one in scopes))))


def _within(state: RegistryState, scope: str | None) -> list[StoredVersion]:
    """Returns all versions of a subject, of a context, or of every context."""
    name = None if scope in (None, subjects.GLOBAL_SCOPE) else subjects.split(scope or "")
    return [
        stored
        for subject, versions in state.subjects.items()
        if name is None
        or subject == scope
        or (not name.name and subjects.context_of(subject) == name.context)
        for stored in versions.values()
    ]
