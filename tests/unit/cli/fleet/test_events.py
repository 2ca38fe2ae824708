"""What happens to brokers and machines, in sentences."""

from dataclasses import replace

from tidelog.base.listener import Listener
from tidelog.cli.fleet import events
from tidelog.cli.fleet.events import event_lines
from tidelog.cli.fleet.plan import MemberPlan

HERE = Listener("PLAINTEXT", "localhost", 9092)
BROKER = MemberPlan(2, HERE, HERE, "/nowhere")
MACHINE = replace(BROKER, cores=2)


def test_a_machine_is_not_taken_for_its_first_core() -> None:
    assert events.restarted(BROKER, 7) == {"event": "broker_restarted", "broker": 2, "pid": 7}
    assert events.restarted(MACHINE, 7) == {"event": "machine_restarted", "machine": "2", "pid": 7}
    assert event_lines(events.restarted(MACHINE, 7)) == ["Machine 2 answers again (process 7)."]


def test_an_end_says_how_and_what_follows() -> None:
    assert event_lines(events.ended(BROKER, -9, ["so long"], 2.0)) == [
        "Broker 2 exited unexpectedly (killed by SIGKILL). It restarts in 2 s; the others keep running.",
        "Its last lines:",
        "    so long",
    ]
    assert event_lines(events.ended(MACHINE, 0, ["so long"], None)) == [
        "Machine 2 was stopped from outside. The others keep running."
    ]
    assert event_lines(events.ended(BROKER, 1, [], None)) == [
        "Broker 2 exited unexpectedly (exit code 1). The others keep running."
    ]


def test_a_broker_without_a_process_says_why_and_when_it_is_tried_again() -> None:
    assert event_lines(events.not_started(BROKER, "no memory", 2.0)) == [
        "Broker 2 is not running: no memory. The next try is in 2 s."
    ]


def test_what_was_killed_and_why() -> None:
    assert event_lines(events.killed(MACHINE, 30.0001)) == [
        "Machine 2 did not stop within 30 s and was killed."
    ]
    assert event_lines(events.hangs(BROKER, 60.0)) == ["Broker 2 has done nothing for 60 s and is killed."]


def test_what_a_machine_says_of_its_replicas_is_shown_as_it_is() -> None:
    assert event_lines({"event": "moves", "message": "3 replicas move."}) == ["3 replicas move."]
    left = {"event": "broker_left", "broker": 1002, "message": "Broker 1002 is drained and gone."}
    assert event_lines(left) == ["Broker 1002 is drained and gone."]
    assert event_lines({"event": "of_a_later_release"}) == []
