"""Schemas that this broker knows to pass, and the questions on others that are under way.

A schema that passes is known for a while: so a deletion is noticed at last. While the registry does not
answer, it stays known. Refusals are not kept, so that a schema passes as soon as it is registered.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

from tidelog.broker.registry.calls import JUDGE, Answer, Call
from tidelog.broker.registry.validation.answering import OK
from tidelog.registry.validation.naming import SchemaName
from tidelog.registry.validation.questions import Question, Rule, Verdicts, to_json

KNOWN_MAX = 50_000
"""All together; beyond it everything is forgotten, and asked for again."""
KNOWN_SECONDS = 300.0
ANSWER_SECONDS = 10.0


class NoAnswer(Exception):
    """The registry cannot be asked at the moment."""


class KnownSchemas:
    def __init__(self, call: Callable[[Call], Awaitable[Answer]], now: Callable[[], float]) -> None:
        self._call = call
        self._now = now
        self._until: dict[tuple[Rule, SchemaName], float] = {}
        self._under_way: dict[tuple[Rule, SchemaName], asyncio.Future[str | None]] = {}

    def passes(self, rule: Rule, name: SchemaName) -> bool:
        until = self._until.get((rule, name))
        return until is not None and self._now() < until

    async def ask(self, questions: Sequence[Question]) -> dict[Rule, Verdicts]:
        """Ask what no other request asks already. Raises NoAnswer."""
        loop = asyncio.get_running_loop()
        waits = {
            (question.rule, name): self._under_way.get((question.rule, name))
            for question in questions
            for name in question.names
        }
        own = {key: loop.create_future() for key, asked in waits.items() if asked is None}
        self._under_way |= own
        try:
            await self._ask_for(own)
            verdicts: dict[Rule, dict[SchemaName, str | None]] = {}
            for (rule, name), asked in waits.items():
                verdicts.setdefault(rule, {})[name] = await (asked or own[rule, name])
            return dict(verdicts)
        finally:
            for key, future in own.items():
                del self._under_way[key]
                if not future.done():  # this request ends without an answer: so do those that wait for it
                    future.set_exception(NoAnswer("the request that asked has ended"))
                future.exception()

    async def _ask_for(self, own: "dict[tuple[Rule, SchemaName], asyncio.Future[str | None]]") -> None:
        if not own:
            return
        names: dict[Rule, list[SchemaName]] = {}
        for rule, name in own:
            names.setdefault(rule, []).append(name)
        questions = [Question(rule, tuple(of_rule)) for rule, of_rule in names.items()]
        try:
            answers = await self._answers(questions)
        except NoAnswer:
            if not all(key in self._until for key in own):
                raise
            answers = [dict.fromkeys(question.names) for question in questions]
        for question, verdicts in zip(questions, answers, strict=True):
            for name, why in verdicts.items():
                self._note(question.rule, name, why)
                own[question.rule, name].set_result(why)

    async def _answers(self, questions: Sequence[Question]) -> list[dict[SchemaName, str | None]]:
        body = json.dumps([to_json(question) for question in questions]).encode()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._call(Call(JUDGE, "/", body=body))
        except TimeoutError:
            raise NoAnswer(f"it did not answer for {ANSWER_SECONDS:.0f} s") from None
        if answer.status != OK:
            raise NoAnswer(answer.body.decode(errors="replace")[:500])
        return [
            dict(zip(question.names, verdicts, strict=True))
            for question, verdicts in zip(questions, json.loads(answer.body), strict=True)
        ]

    def _note(self, rule: Rule, name: SchemaName, why: str | None) -> None:
        if why is not None:
            self._until.pop((rule, name), None)
            return
        if len(self._until) >= KNOWN_MAX:
            self._until.clear()
        self._until[rule, name] = self._now() + KNOWN_SECONDS
