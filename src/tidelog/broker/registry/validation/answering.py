"""The leader of `_schemas` answers the questions of partitions' leaders, on schemas that records name."""

import json

from tidelog.broker.registry.calls import Answer, Call
from tidelog.broker.registry.leading import Leading
from tidelog.registry.validation.judging import judge
from tidelog.registry.validation.questions import from_json

OK = 200


async def answer(call: Call, leading: Leading) -> Answer:
    verdicts = []
    for fields in json.loads(call.body):
        question = from_json(fields)
        found = await judge(leading.shard.state, question, leading.record_names)
        verdicts.append([found[name] for name in question.names])
    return Answer(OK, json.dumps(verdicts).encode())
