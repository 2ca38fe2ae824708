"""The kinds of coordinators that FindCoordinator tells apart."""

from enum import IntEnum


class KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1
    SHARE = 2
