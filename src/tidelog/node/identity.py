"""What a broker says of itself when it registers: who it is, where it listens, what its disks hold."""

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import NO_EPOCH, Epoch, uuid_from_random
from tidelog.base.ports import Random
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.metadata.brokers.features import SUPPORTED_FEATURES
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.records import Endpoint
from tidelog.replication.log_sync import Durability


class BrokerIdentity:
    def __init__(
        self, metadata: MetadataService, config: BrokerConfig, log_dirs: LogDirs, random: Random
    ) -> None:
        self.node_id = config.int("node.id")
        self.incarnation = uuid_from_random(random.bytes(16))
        self.endpoints: list[Endpoint] = []
        self._metadata = metadata
        self._config = config
        self._log_dirs = log_dirs

    def image(self) -> BrokerImage:
        return BrokerImage(
            self.node_id,
            NO_EPOCH,
            self.incarnation,
            {endpoint.listener: endpoint for endpoint in self.endpoints},
            self._config.optional_text("broker.rack") or None,  # an empty variable is no rack
            tuple(self._log_dirs.ids),
            features=SUPPORTED_FEATURES,
            machine=self._config.optional_text("broker.machine") or None,
        )

    def previous_epoch(self) -> Epoch:
        """Tells the controller whether the logs may lack records since the previous process ended."""
        is_synced = self._metadata.config.text("durability") == Durability.FSYNC.value
        return self._log_dirs.previous_epoch(is_synced_first=is_synced)
