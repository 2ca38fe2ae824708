"""What the queue commands show: the same facts as JSON for programs and as tables for people."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidelog.cli.moments import span_text
from tidelog.cli.output import print_table, say
from tidelog.cli.partition_choice import places_text
from tidelog.cli.queue.settings import DEAD_LETTER_TOPIC
from tidelog.cli.queue.standing import Queue, QueuePartition, deliveries, oldest_age, summary


def show_queues(queues: Sequence[Queue], now_ms: int) -> None:
    rows = [summary(queue, now_ms) for queue in queues]
    print_table(
        ("Group", "State", ">Members", "Topics", ">Depth", ">In flight", ">Oldest"),
        [
            (
                row["group"],
                row["state"],
                row["members"],
                row["topics"],
                row["depth"],
                row["in_flight"],
                age_text(row["oldest_age_ms"]),
            )
            for row in rows
        ],
    )


def queue_json(queue: Queue, settings: Mapping[str, str], now_ms: int) -> dict[str, Any]:
    return {
        **summary(queue, now_ms),
        "coordinator": queue.coordinator,
        "settings": dict(settings),
        "delivery_counts": {str(count): records for count, records in deliveries(queue.partitions).items()},
        "members": [member.as_json() for member in queue.members],
        "partitions": [partition_json(part, now_ms) for part in queue.partitions],
    }


def partition_json(part: QueuePartition, now_ms: int) -> dict[str, Any]:
    return {
        "topic": part.place.topic,
        "partition": part.place.partition,
        "start_offset": part.start_offset,
        "end_offset": part.end_offset,
        "depth": part.depth,
        "available": part.available,
        "in_flight": part.in_flight,
        "scheduled": part.scheduled,
        "delayed": part.delayed,
        "dying": part.dying,
        "next_due": part.next_due_ms,
        "oldest_age_ms": oldest_age([part], now_ms),
        "delivery_counts": {str(count): records for count, records in part.deliveries},
        "holders": [
            {
                "member_id": holder.member_id,
                "records": holder.records,
                "next_deadline": holder.next_deadline_ms,
            }
            for holder in part.holders
        ],
        "dead_letter_problem": part.problem,
        "error": part.error,
    }


def show_queue(queue: Queue, settings: Mapping[str, str], now_ms: int) -> None:
    from rich.markup import escape

    row = summary(queue, now_ms)
    count = len(queue.members)
    facts = [queue.state, f"{count} member{'s' if count != 1 else ''}"]
    facts += [
        f"{word} {row[name]:,}"
        for name, word in (("depth", "depth"), ("in_flight", "in flight"))
        if row[name] is not None
    ]
    if row["oldest_age_ms"] is not None:
        facts.append(f"oldest {age_text(row['oldest_age_ms'])}")
    if queue.coordinator is not None:
        facts.append(f"coordinator {queue.coordinator}")
    say(f"[bold]{escape(queue.name)}[/]  {escape(', '.join(facts))}")
    if settings:
        print_table(("Setting", "Value"), [(name, _value(name, text)) for name, text in settings.items()])
        print()
    if queue.members:
        show_members(queue)
        print()
    if queue.partitions:
        show_partitions(queue.partitions, now_ms)
    else:
        print("The group has read no partition yet.")
    if counted := deliveries(queue.partitions):
        print()
        print(f"Deliveries so far of records that are not done: {deliveries_text(counted)}.")
    for part in queue.partitions:
        if part.problem:
            print(f"{part.place}: dead letters wait: {part.problem}")
        if part.error:
            print(f"{part.place}: its leader tells no more: {part.error}")


def show_members(queue: Queue) -> None:
    held: dict[str, int] = {}
    for part in queue.partitions:
        for holder in part.holders:
            held[holder.member_id] = held.get(holder.member_id, 0) + holder.records
    is_known = any(part.in_flight is not None for part in queue.partitions)
    print_table(
        ("Member", "Client", "Host", ">In flight", "Assignment"),
        [
            (
                member.member_id,
                member.client_id,
                member.host,
                held.get(member.member_id, 0) if is_known else None,
                places_text(member.assignment) or None,
            )
            for member in queue.members
        ],
    )


def show_partitions(parts: Sequence[QueuePartition], now_ms: int) -> None:
    """Columns that no partition fills are left out, but the first ones."""
    optional: dict[str, Callable[[QueuePartition], object]] = {
        ">Scheduled": lambda part: part.scheduled or None,
        ">Delayed": lambda part: part.delayed or None,
        ">Dying": lambda part: part.dying or None,
        "Next due": lambda part: (
            None if part.next_due_ms is None else f"in {span_text(part.next_due_ms - now_ms)}"
        ),
        ">Oldest": lambda part: age_text(oldest_age([part], now_ms)),
    }
    shown = {title: of for title, of in optional.items() if any(of(part) is not None for part in parts)}
    print_table(
        ("Topic", ">Partition", ">Start", ">End", ">Depth", ">In flight", *shown),
        [
            (
                part.place.topic,
                part.place.partition,
                part.start_offset,
                part.end_offset,
                part.depth,
                part.in_flight,
                *(of(part) for of in shown.values()),
            )
            for part in parts
        ],
    )


def deliveries_text(counted: Mapping[int, int]) -> str:
    """`none yet: 80, once: 12, 2 times: 3`."""
    words = {0: "none yet", 1: "once"}
    return ", ".join(f"{words.get(count, f'{count} times')}: {n:,}" for count, n in counted.items())


def age_text(age_ms: int | None) -> str | None:
    return None if age_ms is None else span_text(age_ms)


def _value(name: str, text: str) -> str:
    if name == DEAD_LETTER_TOPIC and not text:
        return "(none: records that the group gives up on are dropped)"
    return f"{text} ({span_text(int(text))})" if name.endswith(".ms") and text.isdigit() else text
