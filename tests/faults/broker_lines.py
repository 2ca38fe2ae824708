"""What a broker in this process logs, line by line."""

import logging


class Lines(logging.Handler):
    """What the broker logged, line by line."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.seen: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record)

    @property
    def text(self) -> list[str]:
        return [record.getMessage() for record in self.seen]

    @property
    def failures(self) -> list[str]:
        """Lines that only a bug of the broker writes."""
        formatter = logging.Formatter()
        return [
            formatter.format(record)
            for record in self.seen
            if record.exc_info or "failed inside the broker" in record.getMessage()
        ]
