"""`tidelog topic producers`: the producers of a topic's partitions, and their open transactions."""

import click

from tidelog.cli.cluster.view import ClusterView, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.moments import time_text
from tidelog.cli.output import print_json, print_table
from tidelog.cli.partition_choice import TopicChoice, TopicChoiceType, expand
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.cli.topic.names import complete_topic
from tidelog.cli.transactions.producer_states import look_at_producers
from tidelog.clients.records import TopicPartition


@click.command()
@click.argument(
    "choices",
    nargs=-1,
    required=True,
    type=TopicChoiceType(),
    metavar="TOPIC[:PARTITION,…]…",
    shell_complete=complete_topic,
)
@click.option("--open", "only_open", is_flag=True, help="Only producers with an open transaction.")
@broker_options
@pass_session
def producers(session: Session, choices: tuple[TopicChoice, ...], only_open: bool) -> None:
    """Show the producers that wrote to partitions, and their open transactions.

    A partition remembers the idempotent and transactional producers that wrote to it lately. An open
    transaction is shown with its first offset: readers of committed records wait there.
    """
    direct = DirectCluster(session)
    view = look_at_cluster(direct, dict.fromkeys(choice.topic for choice in choices))
    states = look_at_producers(direct, view, chosen_places(choices, view))
    if only_open:
        states = [state for state in states if state.open_since is not None]
    if session.json:
        print_json([state.as_json() for state in states])
        return
    if not states:
        print("No open transactions." if only_open else "No producers.")
        return
    print_table(
        ("Partition", ">Producer", ">Epoch", ">Last sequence", "Last written", ">Open since offset"),
        [
            (
                str(state.place),
                str(state.producer_id),
                state.epoch,
                state.last_sequence,
                time_text(state.last_timestamp_ms),
                state.open_since,
            )
            for state in states
        ],
    )


def chosen_places(choices: tuple[TopicChoice, ...], view: ClusterView) -> list[TopicPartition]:
    existing = {topic: [part.place.partition for part in parts] for topic, parts in view.topics.items()}
    return expand(choices, existing, "does not exist.", "tidelog topic list")
