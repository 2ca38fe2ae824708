"""Brokers that break their promise are found out: checks that could not fail would prove nothing."""

import re

import pytest

from tests.chaos.campaign import campaign

pytestmark = pytest.mark.timeout(300)

ACKNOWLEDGE_TOO_SOON = """
import tidelog.broker.handlers.records.produce as produce
as_promised = produce.handle
def handle(context, request):
    request.acks = 1 if request.acks == -1 else request.acks
    return as_promised(context, request)
produce.handle = handle
"""


def test_acknowledged_before_the_others_have_it(make_cluster) -> None:
    """A leader that is cut off then acknowledges what is lost when the others go on without it."""
    cluster = make_cluster()
    for member in cluster.members.values():
        member.sabotage = ACKNOWLEDGE_TOO_SOON
    cluster.start()
    with campaign(cluster, "too soon", longest_s=5.0) as run:
        run.begin()
        try:
            run.strike("isolate_leader")
        except AssertionError as stuck:
            # Producers that were told too much find their numbers out of step, and cannot go on.
            if not re.search("producers go on|no producer gives up", str(stuck)):
                raise
            return
        rules = {problem.partition(":")[0] for problem in run.problems()}
    assert rules & {"lost write", "inconsistent offsets"}, rules
