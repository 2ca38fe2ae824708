"""Lists over all subjects, which may be tens of thousands: of those that the client may see."""

from tidelog.broker.registry.api.pauses import Pauses
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import Which
from tidelog.registry.state.stored import StoredVersion


async def seen_subjects(request: RegistryRequest, prefix: str, which: Which) -> list[str]:
    """Returns their names, in order."""
    is_meant = lookups.subject_filter(request.state, prefix, which)
    pauses = Pauses()
    seen = []
    for subject in list(request.state.subjects):
        if is_meant(subject) and request.authorization.sees(request.call, subject):
            seen.append(subject)
        await pauses.spend()
    return sorted(seen)


async def seen_places(
    request: RegistryRequest, stored: StoredVersion, *, deleted: bool
) -> list[StoredVersion]:
    """Returns the versions with the same id, in order: the key of thousands of topics may be one string."""
    pauses = Pauses()
    seen = []
    for place in lookups.places_of(request.state, stored, deleted=deleted):
        if request.authorization.sees(request.call, place.subject):
            seen.append(place)
        await pauses.spend()
    return seen
