"""OffsetFetch for one group, without the topics that the client may not see."""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.groups.offsets.messages import FetchedGroup, FetchedOffset, FetchedTopic, FetchGroup, FetchTopic
from tidelog.security.acls.vocabulary import Operation, ResourceType


class ScreenedFetch(NamedTuple):
    fetch: FetchGroup
    is_allowed: bool
    """False: nothing of the group is fetched."""
    refused: list[FetchedTopic]

    def shown(self, context: Context, found: FetchedGroup) -> FetchedGroup:
        """Returns the answer: topics that the request names are refused, others are left out."""
        if found.error:
            return found
        topics = found.topics
        if self.fetch.topics is None:
            topics = [topic for topic in topics if context.may_see(ResourceType.TOPIC, topic.name)]
        return found._replace(topics=[*topics, *self.refused])


def screened_fetch(context: Context, wanted: FetchGroup) -> ScreenedFetch:
    if not context.allows(Operation.DESCRIBE, ResourceType.GROUP, wanted.group_id):
        return ScreenedFetch(wanted, False, [])
    if wanted.topics is None:
        return ScreenedFetch(wanted, True, [])
    allowed: list[FetchTopic] = []
    refused: list[FetchedTopic] = []
    for topic in wanted.topics:
        if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
            allowed.append(topic)
        else:
            refused.append(_refused(topic))
    return ScreenedFetch(wanted._replace(topics=allowed), True, refused)


def _refused(topic: FetchTopic) -> FetchedTopic:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return FetchedTopic(topic.name, [FetchedOffset(index, error=code) for index in topic.partition_indexes])
