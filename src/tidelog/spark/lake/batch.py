"""The name of what is committed as a whole: one micro-batch of one query, or one batch job."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LakeBatch:
    query: str
    """Spark's id of the query, which its checkpoint keeps over restarts; a batch job has one of its own."""
    number: int

    @property
    def directory(self) -> str:
        """Where its files are written: one listing finds all that any attempt ever wrote."""
        return f"{self.query}/{self.number}"

    def __str__(self) -> str:
        return f"batch {self.number} of query {self.query}"
