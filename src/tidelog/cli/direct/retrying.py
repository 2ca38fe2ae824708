"""A cluster whose calls follow leaders and coordinators, with retries, and with errors for people.

`DirectCluster` asks once and says at once what is wrong; this is for commands that read and write records.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.base.errors import KafkaError
from tidelog.blocking.cluster import Cluster
from tidelog.blocking.errors import BrokersUnreachable, Disconnected, GaveUp, NoSuchTopic, SecurityError
from tidelog.cli.connection import error_of_trouble, unreachable
from tidelog.cli.direct.cluster import DirectCluster, settings_of
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.diagnosis import trouble_of


@contextmanager
def open_cluster(session: Session, what: str) -> Iterator[Cluster]:
    """`what` was tried, as an error's first words say."""
    from tidelog.wire.messages.metadata import MetadataRequest

    # Fails now, with the reason, where no broker answers: the cluster would try for as long as it may.
    DirectCluster(session).ask(MetadataRequest(topics=[]), at_least=1)
    try:
        with Cluster(settings_of(session)) as cluster:
            yield cluster
    except KafkaError as error:
        raise refusal(error.code, error.message, what) from error
    except SecurityError as error:
        raise error_of_trouble(trouble_of(error, session.servers)) from error
    except NoSuchTopic as error:
        raise CliError(f"{what}: {error}.", attempt="tidelog topic list", code=Exit.NOT_FOUND) from error
    except (GaveUp, BrokersUnreachable) as error:
        raise CliError(
            f"{what}: {error}.",
            cause="brokers are down or overloaded, or a partition has no leader.",
            attempt="tidelog cluster status; then the same command again",
            code=Exit.TIMED_OUT,
        ) from error
    except Disconnected as error:
        raise unreachable(session.servers, [error]) from error
