"""What the checks of a running cluster look at: asked for once, and judged without the network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.cli.cluster.features import FeaturesView
from tidelog.cli.cluster.health import Report
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.group.lag import GroupStanding
from tidelog.cli.queue.standing import Queue
from tidelog.cli.transactions.suspects import Suspect


class Damaged(NamedTuple):
    topic: str
    partition: int
    reason: str


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What a broker says of its own process."""

    id: int
    version: str = ""
    clock_ahead_ms: float = 0.0
    """Of this machine's clock."""
    clock_doubt_ms: float = 0.0
    """Half of the time that the answer took: the measure is no better than that."""
    ready: bool = True
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()
    open_files: int | None = None
    open_files_max: int | None = None
    recovered_logs: int = 0
    damaged: Sequence[Damaged] = ()
    damaged_total: int = 0


@dataclass(frozen=True, slots=True)
class DoctorFacts:
    report: Report
    features: FeaturesView
    states: Mapping[int, BrokerState] = field(default_factory=dict)
    """Of the brokers that answer."""
    stored: Mapping[int, Stored] = field(default_factory=dict)
    topic_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    broker_settings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    groups: Sequence[GroupStanding] = ()
    rebalancing: Sequence[str] = ()
    """Groups that were rebalancing at the first look and still are at the second."""
    queues: Sequence[Queue] = ()
    hanging: Sequence[Suspect] = ()
    skipped: Sequence[str] = ()
    """What could not be looked at, and why: for the person, as remarks."""
