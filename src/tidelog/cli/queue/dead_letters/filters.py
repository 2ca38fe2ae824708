"""Which dead letters are meant: by group, source, reason, age and key. Pure."""

from dataclasses import dataclass

from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.dead_letters.letter import Letter
from tidelog.shares.dead_letters.letters import Reason

REASONS = {"rejected": Reason.REJECTED, "too-often": Reason.TOO_OFTEN}
"""Short names of the reasons that brokers give; any other text is looked for in the message."""


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """A letter must fit all that is given."""

    group: str | None = None
    sources: tuple[TopicChoice, ...] = ()
    reason: str | None = None
    before_ms: int | None = None
    since_ms: int | None = None
    key: bytes | None = None

    def takes(self, letter: Letter) -> bool:
        return (
            self.group in (None, letter.group)
            and (not self.sources or any(_is_from(letter, choice) for choice in self.sources))
            and (self.reason is None or has_reason(letter.message, self.reason))
            and (self.before_ms is None or letter.timestamp < self.before_ms)
            and (self.since_ms is None or letter.timestamp >= self.since_ms)
            and (self.key is None or letter.key == self.key)
        )


def has_reason(message: str, wanted: str) -> bool:
    text = REASONS.get(wanted.lower(), wanted)
    return text.lower() in message.lower()


def _is_from(letter: Letter, choice: TopicChoice) -> bool:
    return letter.topic == choice.topic and (not choice.partitions or letter.partition in choice.partitions)
