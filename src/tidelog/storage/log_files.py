"""What the segments of one log share: their directory, their settings, and the bound on open files."""

from tidelog.base.ids import Offset
from tidelog.base.ports import Disk
from tidelog.storage.file_names import file_name
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.warm import WarmSegments


class LogFiles:
    __slots__ = ("config", "disk", "path", "warm")

    def __init__(self, disk: Disk, path: str, config: LogConfig, warm: WarmSegments) -> None:
        self.disk = disk
        self.path = path
        self.config = config
        """Replaced when the topic's settings change."""
        self.warm = warm

    def file(self, base: Offset, suffix: str) -> str:
        return f"{self.path}/{file_name(base, suffix)}"

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0] or "/"

    def sync(self) -> None:
        self.disk.sync_dir(self.path)
