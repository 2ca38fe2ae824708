"""How to reach a cluster. Settings can be pickled: a Spark executor connects as its driver does."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelog.blocking.attempts import Limits

if TYPE_CHECKING:
    from tidelog.blocking.security import Security


@dataclass(frozen=True)
class ClusterSettings:
    servers: tuple[str, ...]
    security: "Security | None" = None
    """None for plain text: commands that need no more start sooner."""
    limits: Limits = field(default_factory=Limits)
    client_id: str = "tidelog"
