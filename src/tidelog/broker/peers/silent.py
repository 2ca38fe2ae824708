"""Brokers that do not respond, as the log reports them: once when it begins, and once when it is over.

Requests that are retried ten times a second would otherwise fill the log while a broker is down.
"""

import logging

from tidelog.base.ids import NodeId


class SilentPeers:
    def __init__(self, log: logging.Logger, begins: str, ends: str) -> None:
        """`begins` is a log line for (broker, problem), `ends` one for the broker."""
        self._log = log
        self._begins = begins
        self._ends = ends
        self._silent: set[NodeId] = set()

    def failed(self, node: NodeId, problem: object) -> None:
        if node not in self._silent:
            self._silent.add(node)
            self._log.warning(self._begins, node, problem)

    def answered(self, node: NodeId) -> None:
        if node in self._silent:
            self._silent.discard(node)
            self._log.info(self._ends, node)
