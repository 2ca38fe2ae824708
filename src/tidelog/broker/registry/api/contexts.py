"""`/contexts`: name spaces of subjects, each with its own ids."""

from tidelog.broker.registry.api.answers import NOTHING, answer_of
from tidelog.broker.registry.api.lists import seen_subjects
from tidelog.broker.registry.api.pages import page
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.authorization import CONFIGURE
from tidelog.broker.registry.calls import Answer
from tidelog.registry import subjects
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import Which


async def list_contexts(request: RegistryRequest) -> Answer:
    """The default context, and those with a subject that the client may see."""
    prefix = request.query.text("contextPrefix")
    seen = set(map(subjects.context_of, await seen_subjects(request, subjects.ALL_CONTEXTS, Which.ALL)))
    names = lookups.context_names(request.state)
    shown = (name for name in names if name == subjects.DEFAULT_CONTEXT or name in seen)
    return answer_of(page((name for name in shown if name.startswith(prefix)), request.query))


async def delete(request: RegistryRequest) -> Answer:
    request.authorization.check_all(request.call, CONFIGURE)
    context = subjects.checked_context(request.text("context"))
    await request.leading.write(lambda shard: shard.delete_context(context))
    return NOTHING
