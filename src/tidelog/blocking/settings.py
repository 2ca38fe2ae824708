"""How to reach a cluster. Settings can be pickled: a Spark executor connects as its driver does."""

from dataclasses import dataclass, field

from tidelog.blocking.attempts import Limits
from tidelog.blocking.security import PLAINTEXT, Security


@dataclass(frozen=True)
class ClusterSettings:
    servers: tuple[str, ...]
    security: Security = PLAINTEXT
    limits: Limits = field(default_factory=Limits)
    client_id: str = "tidelog"
