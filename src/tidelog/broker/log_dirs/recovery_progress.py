"""The progress of the check of logs after an unclean shutdown; health and metrics read it."""

from dataclasses import dataclass


@dataclass(slots=True)
class RecoveryProgress:
    logs: int
    checked_logs: int = 0
    scanned_bytes: int = 0

    def text(self) -> str:
        return (
            f"checking logs after an unclean shutdown: {self.checked_logs} of {self.logs}, "
            f"{self.scanned_bytes / 1e6:.1f} MB so far"
        )
