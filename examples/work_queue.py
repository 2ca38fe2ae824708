"""A work queue with retries and dead letters: `python examples/work_queue.py`, or with `-b HOST:PORT`.

Workers resize pictures. A picture whose server is away is tried again, later each time; a picture that is
broken goes to the dead-letter topic at once, and so does one that failed five times.
"""

import argparse
import contextlib
import random
import sys
from typing import Any

from tidelog import Consumer, Job, Queue, json_deserializer, json_serializer
from tidelog.testing import Broker

GROUP = "resizers"
DEAD_LETTERS = "dlq.pictures"


def say(*words: object) -> None:
    """A line as a whole: several workers speak."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class ServerAway(Exception):
    pass


class BrokenPicture(Exception):
    pass


def resize(picture: str) -> None:
    if picture.startswith("broken"):
        raise BrokenPicture(picture)
    if random.random() < 0.3:
        raise ServerAway(picture)


def handle(job: Job[bytes, Any]) -> None:
    """An exception that is not caught here is logged, and the job is tried again at once."""
    picture = job.value["picture"]
    try:
        resize(picture)
        say(f"{picture}: done in attempt {job.delivery_count}")
    except ServerAway:
        delay_s = 0.2 * 2**job.delivery_count
        say(f"{picture}: again in {delay_s:g} s")
        job.retry(after=delay_s)
    except BrokenPicture:
        say(f"{picture}: cannot be done")
        job.fail()


def set_dead_letters(address: str) -> None:
    from confluent_kafka.admin import (
        AdminClient,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        ResourceType,
    )

    admin = AdminClient({"bootstrap.servers": address})
    name = "errors.deadletterqueue.topic.name"
    entry = ConfigEntry(name, DEAD_LETTERS, incremental_operation=AlterConfigOpType.SET)
    group = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[entry])
    admin.incremental_alter_configs([group])[group].result(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-b", "--brokers", help="HOST:PORT; without it, a broker is started")
    given = parser.parse_args().brokers
    settings = {"errors.deadletterqueue.auto.create.topics.enable": True}
    with contextlib.ExitStack() as stack:
        address = given or stack.enter_context(Broker(settings=settings)).bootstrap_servers
        jobs = stack.enter_context(
            Queue(
                "pictures",
                address,
                group_id=GROUP,
                value_serializer=json_serializer,
                value_deserializer=json_deserializer,
            )
        )
        set_dead_letters(address)
        for number in range(10):
            name = "broken" if number % 5 == 4 else "picture"
            jobs.send({"picture": f"{name}-{number}.png"}, key=str(number))
        jobs.work(handle, workers=4, timeout_ms=5_000)
        letters = stack.enter_context(
            Consumer({"bootstrap.servers": address, "group.id": "letters", "auto.offset.reset": "earliest"})
        )
        letters.subscribe([DEAD_LETTERS])
        for letter in letters.poll(10_000):
            say("dead letter:", letter.value, dict(letter.headers))


if __name__ == "__main__":
    main()
