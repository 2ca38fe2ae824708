"""`/mode`: whether schemas can be registered, and whether they bring their ids."""

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.bodies import ModeBody
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.scopes import permit_change, scope_of
from tidelog.broker.registry.authorization import CONFIGURE, READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.mode import checked_mode
from tidelog.registry.state import lookups, refusals


async def get(request: RegistryRequest) -> Answer:
    scope = scope_of(request)
    if scope is not None:
        request.authorization.check(request.call, READ, scope)
    if scope is None or request.query.flag("defaultToGlobal"):
        return answer_of({"mode": lookups.mode_in_scope(request.state, scope)})
    if scope not in request.state.modes:
        raise RegistryError(
            RegistryCode.SUBJECT_MODE_NOT_CONFIGURED,
            f"Subject '{scope}' does not have subject-level mode configured",
        )
    return answer_of({"mode": request.state.modes[scope]})


async def update(request: RegistryRequest) -> Answer:
    scope = permit_change(request)
    given = request.body(ModeBody).mode
    if given is None:  # the scope has no mode of its own any more
        await request.leading.write(lambda shard: shard.delete_mode(scope))
        return answer_of({})
    mode, force = checked_mode(given), request.query.flag("force")
    if mode.is_import:  # clients choose ids, which all subjects of the context share
        request.authorization.check_all(request.call, CONFIGURE)
    await request.leading.write(lambda shard: shard.change_mode(scope, mode, force=force))
    return answer_of({"mode": mode})


async def delete(request: RegistryRequest) -> Answer:
    scope = permit_change(request)
    recursive = request.query.flag("recursive")
    gone = await request.leading.write(lambda shard: shard.delete_mode(scope, recursive=recursive))
    if gone is None and not recursive:
        raise refusals.subject_not_found(scope or "")
    return answer_of({} if gone is None else {"mode": gone})
