"""What a broker knows of schemas: asked once, kept for a while, and never a refusal."""

import asyncio
import json

import pytest

from tests.rigs.virtual_time import run
from tidelog.broker.registry.calls import JUDGE, Answer
from tidelog.broker.registry.validation.known import ANSWER_SECONDS, KNOWN_SECONDS, KnownSchemas, NoAnswer
from tidelog.registry.validation.naming import Side
from tidelog.registry.validation.questions import Question, Rule
from tidelog.storage.schema_checks import SubjectStrategy

RULE = Rule("orders", Side.VALUE, SubjectStrategy.TOPIC)


class Registry:
    def __init__(self):
        self.asked = []
        self.registered = {1}
        self.status = 200
        self.seconds = 0.0
        self.now = 0.0

    async def call(self, call):
        assert call.method == JUDGE
        questions = json.loads(call.body)
        self.asked.append(questions[0]["schemas"])
        await asyncio.sleep(self.seconds)
        verdicts = [
            [None if name in self.registered else "no" for name in one["schemas"]] for one in questions
        ]
        return Answer(self.status, json.dumps(verdicts).encode())

    def known(self):
        return KnownSchemas(self.call, lambda: self.now)


def test_a_schema_that_passes_is_known_for_a_while():
    registry = Registry()
    known = registry.known()
    assert not known.passes(RULE, 1)
    assert run(known.ask([Question(RULE, (1,))])) == {RULE: {1: None}}
    assert known.passes(RULE, 1)
    assert not known.passes(RULE._replace(topic="bills"), 1)
    registry.now = KNOWN_SECONDS
    assert not known.passes(RULE, 1)


def test_a_refusal_is_not():
    registry = Registry()
    known = registry.known()
    assert run(known.ask([Question(RULE, (2,))])) == {RULE: {2: "no"}}
    registry.registered.add(2)
    assert run(known.ask([Question(RULE, (2,))])) == {RULE: {2: None}}


def test_a_question_under_way_is_not_asked_again():
    registry = Registry()
    registry.seconds = 1.0
    known = registry.known()

    async def both():
        return await asyncio.gather(known.ask([Question(RULE, (1, 2))]), known.ask([Question(RULE, (2, 3))]))

    assert run(both()) == [{RULE: {1: None, 2: "no"}}, {RULE: {2: "no", 3: "no"}}]
    assert registry.asked == [[1, 2], [3]]


@pytest.mark.parametrize(("status", "seconds"), [(503, 0.0), (200, ANSWER_SECONDS + 1)])
def test_a_registry_that_does_not_answer(status, seconds):
    registry = Registry()
    known = registry.known()
    run(known.ask([Question(RULE, (1,))]))
    registry.status, registry.seconds, registry.now = status, seconds, KNOWN_SECONDS
    assert run(known.ask([Question(RULE, (1,))])) == {RULE: {1: None}}, "it passed before"
    assert known.passes(RULE, 1)
    with pytest.raises(NoAnswer):
        run(known.ask([Question(RULE, (2,))]))


def test_those_that_wait_for_a_question_without_an_answer_have_none_either():
    registry = Registry()
    registry.seconds = ANSWER_SECONDS + 1
    known = registry.known()

    async def both():
        asks = [known.ask([Question(RULE, (1,))]) for _ in range(2)]
        return await asyncio.gather(*asks, return_exceptions=True)

    assert [type(one) for one in run(both())] == [NoAnswer, NoAnswer]
    assert not known._under_way
