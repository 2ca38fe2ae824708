"""Where in the YAML file each value stands, for mistakes that show only later: in a rule, or in Spark."""

from dataclasses import dataclass, field

Place = tuple[str | int, ...]
"""('sinks', 0, 'topic')"""


@dataclass(slots=True)
class Lines:
    of_values: dict[Place, int | None] = field(default_factory=dict)
    of_texts: dict[Place, int] = field(default_factory=dict)
    """The first line of texts that are written as blocks (`|`), which keep their own lines."""

    def find(self, place: Place) -> int | None:
        """Of the value, or of what it is in."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.of_values:
                return self.of_values[place[:length]]
        return None

    def within(self, place: Place, lines_before: int) -> int | None:
        """Of a line inside a text, as far as the file keeps the lines apart."""
        first = self.of_texts.get(place)
        return self.find(place) if first is None else first + lines_before


def place_text(place: Place) -> str:
    """`sinks[0].topic`, or '' at the top."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")
