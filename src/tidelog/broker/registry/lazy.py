"""The registry of a broker that may never get a call: its parts are loaded with the first one."""

from typing import TYPE_CHECKING

from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.registry.coordinator import RegistryCoordinator

if TYPE_CHECKING:
    from tidelog.broker.registry.calls import Answer, Call
    from tidelog.broker.registry.service import RegistryService
    from tidelog.broker.registry.validation.validation import SchemaValidation
    from tidelog.broker.requests.context import Services


class LazyRegistry:
    def __init__(
        self, services: "Services", coordinator: RegistryCoordinator, run_in_thread: RunInThread
    ) -> None:
        """`run_in_thread` checks schemas."""
        self._services = services
        self._run_in_thread = run_in_thread
        self.coordinator = coordinator
        self.loaded: RegistryService | None = None
        """None before the first call."""
        self._validation: SchemaValidation | None = None

    @property
    def service(self) -> "RegistryService":
        if self.loaded is None:
            from tidelog.broker.registry.here import CallsHere
            from tidelog.broker.registry.service import RegistryService
            from tidelog.broker.registry.workers import SchemaWorkers

            workers = SchemaWorkers(self._run_in_thread, self._services.clock.monotonic)
            here = CallsHere(self._services, self.coordinator, workers)
            self.loaded = RegistryService(self._services, self.coordinator, here)
        return self.loaded

    @property
    def validation(self) -> "SchemaValidation":
        """Checks the schemas of produced records."""
        if self._validation is None:
            from tidelog.broker.registry.validation.known import KnownSchemas
            from tidelog.broker.registry.validation.validation import SchemaValidation

            known = KnownSchemas(self.service.ask, self._services.clock.monotonic)
            self._validation = SchemaValidation(known)
        return self._validation

    async def call(self, call: "Call") -> "Answer":
        """Answer a client of this broker."""
        return await self.service.call(call)

    def close(self) -> None:
        if self.loaded is not None:
            self.loaded.close()
        if self._validation is not None:
            self._validation.close()
