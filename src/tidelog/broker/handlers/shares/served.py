"""What handlers of share groups ask first: whether the cluster has any, and the broker's share partitions.

The share partitions are made when the first member comes: a broker without any has none, and does not even
import what they are made of.
"""

from typing import TYPE_CHECKING

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context, Services
from tidelog.metadata.image.image import SHARE_VERSION
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.shares.place import SharePlace

if TYPE_CHECKING:
    from tidelog.broker.shares.ports import Persister
    from tidelog.broker.shares.share_partitions import SharePartitions


def check_offered(services: Services) -> None:
    """KafkaError while the cluster does not use share groups yet."""
    if not services.metadata.image.features.get(SHARE_VERSION, 0):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"The cluster does not serve share groups yet: {SHARE_VERSION} is at level 0. Once all brokers "
            "run this version, raise it: tidelog cluster upgrade",
        )


def persister_of(services: Services) -> "Persister":
    if services.persister is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the state of share groups is not served yet")
    return services.persister


def shares_of(services: Services) -> "SharePartitions":
    if services.shares is None:
        from tidelog.broker.shares.dead_letters.sending import LetterSender
        from tidelog.broker.shares.dead_letters.writer import DeadLetters
        from tidelog.broker.shares.schedule.schedule import Schedule
        from tidelog.broker.shares.share_partitions import SharePartitions

        store = persister_of(services)
        shares = SharePartitions(services.clock, services.metadata, services.partitions, store)
        shares.schedule = Schedule(shares, services.metadata)
        shares.dead_letters = DeadLetters(
            shares,
            services.metadata,
            LetterSender(services.peers, services.forwarding),
            take_producer_id=services.producer_ids.take,
            run_in_thread=services.run_in_thread,
        )
        services.shares = shares
    return services.shares


def load_for_dead_letters(services: Services, place: SharePlace) -> None:
    """Begin to load a share partition without a member; it goes again once its dead letters are written.

    KafkaError if this broker does not lead the partition.
    """
    shares = shares_of(services)
    led = shares.find(*place)
    led.is_leaving = not shares.sessions.has_group(place.group_id)


def check_group(context: Context, group_id: str | None) -> None:
    """KafkaError if the client may not read as a member of the group."""
    if group_id and not context.allows(Operation.READ, ResourceType.GROUP, group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
