"""What is moved: subjects with their versions, ids, references, configs and modes. Plain values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tidelog.cli.exits import CliError, Exit
from tidelog.registry.schema import Schema
from tidelog.registry.subjects import qualified


class Place(NamedTuple):
    subject: str
    version: int

    def __str__(self) -> str:
        return f"'{self.subject}' version {self.version}"


@dataclass(frozen=True)
class ExportedVersion:
    place: Place
    id: int
    schema: Schema
    is_deleted: bool = False


@dataclass(frozen=True)
class ExportedSubject:
    """A subject; or a context, `:.name:`, which has no versions itself."""

    name: str
    versions: tuple[ExportedVersion, ...]
    config: Mapping[str, Any] | None = None
    """As the registry answers; None where the subject has none of its own."""
    mode: str | None = None


@dataclass(frozen=True)
class Exported:
    source: str
    subjects: tuple[ExportedSubject, ...]
    config: Mapping[str, Any] | None = None
    mode: str | None = None

    def versions(self) -> Iterator[ExportedVersion]:
        for subject in self.subjects:
            yield from subject.versions


def references_of(version: ExportedVersion) -> list[Place]:
    """A reference that names no context means that of the schema."""
    subject, references = version.place.subject, version.schema.references
    return [Place(qualified(one.subject, subject), one.version) for one in references]


def in_order(exported: Exported) -> list[ExportedVersion]:
    """Versions behind those that they refer to, and behind the earlier versions of their subject.

    Raises CliError for references that go in a circle, which no registry makes.
    """
    by_place = {one.place: one for one in exported.versions()}
    earlier: dict[Place, Place] = {}
    for subject in exported.subjects:
        places = sorted(one.place for one in subject.versions)
        earlier |= dict(zip(places[1:], places, strict=False))
    made: dict[Place, ExportedVersion] = {}
    open_places: set[Place] = set()
    for start in sorted(by_place):
        # A stack of our own: thousands of versions in a row are more than Python's calls may nest.
        stack = [(start, False)]
        while stack:
            place, is_ready = stack.pop()
            if is_ready:
                open_places.discard(place)
                made[place] = by_place[place]
                continue
            if place in made or place in open_places:
                continue
            open_places.add(place)
            stack.append((place, True))
            before = references_of(by_place[place])
            if circle := next((one for one in before if one in open_places), None):
                raise CliError(f"{place} and {circle} refer to each other in a circle.", code=Exit.REFUSED)
            if place in earlier and earlier[place] not in open_places:
                stack.append((earlier[place], False))
            stack += [(one, False) for one in before if one in by_place]
    return list(made.values())
