"""The assignors by the name that `group.consumer.assignors` and clients use."""

from tidelog.groups.modern.assignors import ranges, uniform
from tidelog.groups.modern.assignors.assignor import Assignor

ASSIGNORS: dict[str, Assignor] = {"uniform": uniform.assign, "range": ranges.assign}
