"""The assignors by the name that `group.consumer.assignors` and clients use."""

from tidelog.groups.consumer.assignors import ranges, uniform
from tidelog.groups.consumer.assignors.assignor import Assignor

ASSIGNORS: dict[str, Assignor] = {"uniform": uniform.assign, "range": ranges.assign}
