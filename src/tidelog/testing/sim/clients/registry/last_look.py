"""Reads all that the registry knows, once the cluster is whole again."""

import asyncio
from typing import Any
from urllib.parse import quote

from tidelog.testing.registry_history import OK, REFUSED, LastVersion, RegistryHistory
from tidelog.testing.sim.clients.registry.access import RegistryAccess


class LastLook:
    def __init__(self, access: RegistryAccess, history: RegistryHistory) -> None:
        self._access = access
        self._history = history

    async def run(self) -> None:
        """Does not end before every question is answered."""
        subjects = await self._ask("/subjects", "deleted=true")
        for subject in subjects:
            path = f"/subjects/{quote(subject, safe='')}/versions"
            versions = await self._ask(path, "deleted=true")
            live = set(await self._ask(path) or ())
            for version in versions or ():
                found = await self._ask(f"{path}/{version}", "deleted=true")
                last = LastVersion(subject, version, found["id"], found["schema"], version not in live)
                self._history.last.append(last)
        for subject in self._history.subjects():
            config = await self._ask(f"/config/{subject}")
            if config is not None:
                self._history.last_levels[subject] = config["compatibilityLevel"]
        self._history.is_complete = True

    async def _ask(self, path: str, query: str = "") -> Any:
        """Returns None where there is nothing of that name."""
        while True:
            heard = await self._access.call("GET", path, query)
            if heard.outcome == OK:
                return heard.body
            if heard.outcome == REFUSED:
                return None
            await asyncio.sleep(0.1)
