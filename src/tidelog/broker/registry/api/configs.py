"""`/config`: the compatibility level and the other settings of everything, of a context or of a subject."""

from typing import Any

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.scopes import permit_change, scope_of
from tidelog.broker.registry.api.shapes import updated_config_shape
from tidelog.broker.registry.authorization import READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.config import checked_changes
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import lookups, refusals


async def get(request: RegistryRequest) -> Answer:
    scope = scope_of(request)
    if scope is not None:
        request.authorization.check(request.call, READ, scope)
    if scope is None or request.query.flag("defaultToGlobal"):
        return answer_of(lookups.config_in_scope(request.state, scope))
    if scope not in request.state.configs:
        raise RegistryError(
            RegistryCode.SUBJECT_COMPATIBILITY_NOT_CONFIGURED,
            f"Subject '{scope}' does not have subject-level compatibility configured",
        )
    return answer_of(request.state.configs[scope])


async def update(request: RegistryRequest) -> Answer:
    scope = permit_change(request)
    changes = checked_changes(request.body(dict[str, Any]))
    config = await request.leading.write(lambda shard: shard.change_config(scope, changes))
    return answer_of(updated_config_shape(config))


async def delete(request: RegistryRequest) -> Answer:
    scope = permit_change(request)
    gone = await request.leading.write(lambda shard: shard.delete_config(scope))
    if gone is None and scope is not None:
        raise refusals.subject_not_found(scope)
    return answer_of(lookups.config_in_scope(request.state, None) if gone is None else gone)
