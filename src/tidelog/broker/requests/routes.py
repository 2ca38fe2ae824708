"""Everything that requests of one API and version need, looked up once: codec, handler, response."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tidelog.base.errors import ProtocolError
from tidelog.broker.handlers import HANDLERS, load, load_check, load_exception
from tidelog.broker.requests.answer import HandlerAnswer
from tidelog.broker.requests.context import Context
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.codec import decoder
from tidelog.wire.frame import response_writer
from tidelog.wire.message import Message, Part

Handler = Callable[[Context, Any], HandlerAnswer]
Watch = Callable[[ApiKey, Handler], Handler]
Write = Callable[[int, Any], list[Part]]
WatchResponses = Callable[[int, type[Message], Write], Write]


class FastPaths(Protocol):
    """Learns from handled requests of one API how to answer the next ones without decoding them."""

    def learn(self, frame: memoryview, context: Context, request: Any, /) -> None:
        """The request was handled. Sets `fast_path` of its connection where similar frames may follow."""
        ...


class Route(NamedTuple):
    name: str
    api_key: int
    handle: Handler
    decode: Callable[[memoryview, int, bool], Any]
    response_class: type
    write: Write
    fast_paths: FastPaths | None
    check_here: Callable[[Context, Any], Message | None] | None
    """For requests that are forwarded: a refusal that only the client's own broker can decide on."""
    stays_here: Callable[[Any], bool] | None
    """For requests that are forwarded: whether this one is about the client's own broker."""


class Routes:
    def __init__(
        self,
        fast_paths: Mapping[ApiKey, FastPaths],
        watch: Watch | None = None,
        watch_responses: WatchResponses | None = None,
    ) -> None:
        """`watch` may wrap a handler, and is called when the handler is first used; so may `watch_responses`
        with what encodes the responses of an API."""
        self._fast_paths = fast_paths
        self._watch = watch
        self._watch_responses = watch_responses
        self._routes: dict[tuple[int, int], Route] = {}

    def find(self, api_key: int, version: int) -> Route | None:
        """Returns None for an unsupported version of ApiVersions, which must not close the connection.

        Raises ProtocolError for any other API or version that this broker does not offer.
        """
        return self._routes.get((api_key, version)) or self._build(api_key, version)

    def _build(self, api_key: int, version: int) -> Route | None:
        spec = API.get(api_key)
        if spec is None or api_key not in HANDLERS:
            raise ProtocolError(f"API key {api_key} is not offered by this broker")
        if not spec.supports(version):
            if api_key == ApiKey.API_VERSIONS:
                return None
            raise ProtocolError(f"version {version} of {spec.name} is not offered by this broker")
        handle = load(ApiKey(api_key))
        write = response_writer(api_key, version)
        if self._watch_responses is not None:
            write = self._watch_responses(api_key, spec.response_class(), write)
        route = Route(
            spec.name,
            api_key,
            handle if self._watch is None else self._watch(ApiKey(api_key), handle),
            decoder(spec.request_class(), version),
            spec.response_class(),
            write,
            self._fast_paths.get(ApiKey(api_key)),
            load_check(ApiKey(api_key)),
            load_exception(ApiKey(api_key)),
        )
        self._routes[api_key, version] = route
        return route
