"""`/subjects/{subject}/versions`: the versions of a subject, and which schemas refer to one."""

from tidelog.broker.registry.api.answers import answer_of, text_answer
from tidelog.broker.registry.api.formats import text_of, with_references
from tidelog.broker.registry.api.pages import page
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.shapes import version_shape
from tidelog.broker.registry.authorization import DELETE, READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import Which
from tidelog.registry.state.stored import StoredVersion


async def list_versions(request: RegistryRequest) -> Answer:
    query, subject = request.query, request.permitted_subject(READ)
    as_negative = query.flag("deletedAsNegative")
    if query.flag("deletedOnly") and not as_negative:
        which = Which.DELETED
    else:
        which = Which.ALL if as_negative or query.flag("deleted") else Which.LIVE
    found = page(lookups.versions_of(request.state, subject, which), query)
    return answer_of([-one.version if as_negative and one.deleted else one.version for one in found])


async def get(request: RegistryRequest) -> Answer:
    stored = _found(request)
    shape = version_shape(stored, await text_of(request, stored))
    return answer_of(with_references(request, stored, shape))


async def text(request: RegistryRequest) -> Answer:
    return text_answer(await text_of(request, _found(request)))


async def referenced_by(request: RegistryRequest) -> Answer:
    stored = _found(request, deleted=True)
    referring = lookups.referring(request.state, stored.place, deleted=request.query.flag("deleted"))
    seen = {one.id for one in referring if request.authorization.sees(request.call, one.subject)}
    return answer_of(page(sorted(seen), request.query))


def _found(request: RegistryRequest, *, deleted: bool = False) -> StoredVersion:
    """Returns the version; or that of the same subject in another context, if the client may see it.

    A subject that it may not see counts as missing: the answer must not tell whether it is there.
    """
    state, subject = request.state, request.subject()
    version = lookups.checked_version(request.text("version"))
    deleted = deleted or request.query.flag("deleted")
    found = lookups.find_version(state, subject, version, deleted=deleted)
    if found is None or not request.authorization.sees(request.call, subject):
        for other in lookups.elsewhere(state, subject):
            found = lookups.find_version(state, other, version, deleted=deleted)
            if found is not None and request.authorization.sees(request.call, other):
                return found
    request.authorization.check(request.call, READ, subject)
    return lookups.version_of(state, subject, version, deleted=deleted)


async def delete(request: RegistryRequest) -> Answer:
    subject = request.permitted_subject(DELETE)
    version = lookups.checked_version(request.text("version"))
    permanent = request.query.flag("permanent")
    return answer_of(
        await request.leading.write(lambda shard: shard.delete_version(subject, version, permanent=permanent))
    )
