"""What share partitions ask of others: their stored state, and the parts that work beside them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tidelog.base.ids import Offset
from tidelog.base.ports import File
from tidelog.wire.batch import BatchHeader
from tidelog.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
)
from tidelog.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
)
from tidelog.wire.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
)
from tidelog.wire.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)
from tidelog.wire.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
)

if TYPE_CHECKING:
    from tidelog.broker.shares.led_share import LedShare


class StateStore(Protocol):
    """The part of the persister that share partitions use. Errors are in the responses."""

    async def read(self, request: ReadShareGroupStateRequest) -> ReadShareGroupStateResponse: ...

    async def write(self, request: WriteShareGroupStateRequest) -> WriteShareGroupStateResponse: ...


class Persister(StateStore, Protocol):
    """All of the persister: groups initialize, delete and sum up the state of many partitions at once."""

    async def initialize(
        self, request: InitializeShareGroupStateRequest
    ) -> InitializeShareGroupStateResponse: ...

    async def delete(self, request: DeleteShareGroupStateRequest) -> DeleteShareGroupStateResponse: ...

    async def read_summary(
        self, request: ReadShareGroupStateSummaryRequest
    ) -> ReadShareGroupStateSummaryResponse: ...

    async def close(self) -> None:
        """The broker stops: what is under way is answered."""
        ...


class HeldBack(Protocol):
    """Decides which records of a batch are not delivered yet."""

    def check_clock(self) -> None:
        """Called before each delivery: a clock that has gone back makes records early that were due."""
        ...

    def in_batch(
        self, led: "LedShare", file: File, position: int, header: BatchHeader
    ) -> Sequence[tuple[Offset, Offset]]:
        """First and last offsets to hold back, ascending. Called for each batch before it is delivered, once
        for each load and each clock that has gone back. OSError if the batch cannot be read."""
        ...
