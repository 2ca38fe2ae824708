"""Which APIs have a handler."""

from tidelog.broker.handlers import HANDLERS
from tidelog.wire.apis import API


def test_every_api_of_the_schema_has_a_handler() -> None:
    assert set(API) == set(HANDLERS)
