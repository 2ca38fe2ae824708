"""What the API needs of the broker that leads `_schemas`: the state in memory, and a way to change it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from tidelog.broker.registry.authorization import Authorization
    from tidelog.coordination.decision import ShardDecision
    from tidelog.registry.errors import RegistryError
    from tidelog.registry.preparing import Job, Prepared, Source
    from tidelog.registry.state.shard import RegistryShard

AnswerT = TypeVar("AnswerT")


class Leading(Protocol):
    """Each method raises RegistryError. Other errors are for the service, which tries the call again, here or
    at another broker: the API lets them pass."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def shard(self) -> "RegistryShard":
        """To read from: everything that it holds is committed, or is waited for by `answer`."""
        ...

    async def prepare(self, job: "Job") -> "Prepared":
        """Run `registry.preparing.prepare` beside the event loop."""
        ...

    async def formatted(self, source: "Source", format: str) -> str:
        """Run `registry.preparing.formatted` beside the event loop."""
        ...

    async def record_names(self, source: "Source") -> list[str]:
        """Run `registry.validation.record_names` beside the event loop."""
        ...

    async def write(
        self, decide: "Callable[[RegistryShard], ShardDecision[AnswerT | RegistryError]]"
    ) -> AnswerT:
        """Decide on the state as it is now, append, apply, and return the answer once it is committed."""
        ...

    @property
    def authorization(self) -> "Authorization":
        """`Authorization(services)`, always the same."""
        ...
