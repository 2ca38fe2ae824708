"""All clients that push their metrics to this broker, within limits on clients and on series."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from tidelog.base.client_metrics_settings import ClientMetricsConfig
from tidelog.base.ids import Uuid
from tidelog.metrics.clients.instance import ClientInstance
from tidelog.metrics.clients.labels import KeptPoint
from tidelog.metrics.clients.subscription import ClientFacts, subscription_of

INSTANCES_MAX = 16_384
Texts = Mapping[str, Mapping[str, str]]


class ClientInstances:
    def __init__(self, texts: Callable[[], Texts], *, instances_max: int = INSTANCES_MAX) -> None:
        """`texts` returns the subscriptions as they are stored: the same object while none has changed."""
        self._texts = texts
        self._followed: Texts = {}
        self._configs: list[ClientMetricsConfig] = []
        self._version = 0
        self._instances_max = instances_max
        self._instances: OrderedDict[Uuid, tuple[ClientInstance, int]] = OrderedDict()  # the idle ones first
        self.series = 0
        """The values that are kept, of all clients."""

    def __len__(self) -> int:
        return len(self._instances)

    def __iter__(self) -> Iterator[ClientInstance]:
        return iter([instance for instance, _ in self._instances.values()])

    def __contains__(self, instance_id: Uuid) -> bool:
        return instance_id in self._instances

    def of(self, client: ClientFacts, now_ms: int) -> ClientInstance:
        """The instance of a client that sends a request, with its current subscription."""
        self._follow()
        entry = self._instances.get(client.instance_id)
        if entry is None:
            instance = ClientInstance(client, subscription_of(self._configs, client), now_ms)
            if len(self._instances) >= self._instances_max:
                self._forget(next(iter(self._instances)))
        else:
            instance, version = entry
            if version != self._version:
                subscription = subscription_of(self._configs, instance.client)
                if subscription != instance.subscription:
                    instance.follow(subscription)
        instance.touch(now_ms)
        self._instances[client.instance_id] = instance, self._version
        self._instances.move_to_end(client.instance_id)
        return instance

    def take(self, instance: ClientInstance, points: list[KeptPoint], series_max: int) -> int:
        """Keeps the values of a push, and returns how many there was no room for."""
        if instance.client.instance_id not in self._instances:  # forgotten meanwhile
            return len(points)
        room = max(series_max - self.series + len(instance.values), 0)
        self.series -= len(instance.values)
        instance.take(points[:room])
        self.series += len(instance.values)
        return max(len(points) - room, 0)

    def expire(self, now_ms: int) -> None:
        expired = [id for id, (instance, _) in self._instances.items() if instance.is_expired(now_ms)]
        for instance_id in expired:
            self._forget(instance_id)

    def _forget(self, instance_id: Uuid) -> None:
        instance, _ = self._instances.pop(instance_id)
        self.series -= len(instance.values)

    def _follow(self) -> None:
        texts = self._texts()
        if texts is not self._followed:
            self._followed = texts
            self._configs = [ClientMetricsConfig.of(one) for one in texts.values()]
            self._version += 1
