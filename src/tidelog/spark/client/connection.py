"""One blocking connection to a broker: requests on the codec, answers in order, a time limit on each.

Every failure of the network is `Disconnected`, after which the connection is of no more use. Requests may be
sent ahead of their answers (`send`, `send`, `receive`, `receive`), which is how reading overlaps decoding.
"""

import itertools
import socket
import ssl
import struct
import time
from collections import deque
from typing import Any, TypeVar

import tidelog
from tidelog.base.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.spark.client.sasl import exchange
from tidelog.spark.client.security import PLAINTEXT, Sasl, Security
from tidelog.spark.errors import Disconnected, SecurityError
from tidelog.wire.apis import API, ApiKey, ApiSpec
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

M = TypeVar("M", bound=Message)

FRAME_BYTES_MAX = 1 << 30
"""Of an answer; a peer that announces more is no broker, or a fetch asked for too much at once."""

_SIZE = struct.Struct(">i")
_SPECS = {f"{spec.name}Request": spec for spec in API.values()}
_BEFORE_VERSIONS = {int(ApiKey.API_VERSIONS): (3, 3)}


class Connection:
    def __init__(
        self,
        host: str,
        port: int,
        *,
        security: Security = PLAINTEXT,
        client_id: str = "tidelog-spark",
        connect_timeout_s: float = 10.0,
        timeout_s: float = 30.0,
    ) -> None:
        self.address = f"{host}:{port}"
        self.timeout_s = timeout_s
        self._client_id = client_id
        self._numbers = itertools.count(1)
        self._awaited: deque[tuple[ApiSpec, int, int]] = deque()
        self._versions: dict[int, tuple[int, int]] = dict(_BEFORE_VERSIONS)
        self._socket = self._opened(host, port, security, connect_timeout_s)
        self._renew_after: float | None = None
        self.features: dict[str, int] = {}
        """What the cluster has switched on, such as transaction.version."""
        try:
            self._learn_versions()
            if security.sasl is not None:
                self._authenticate(security.sasl)
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        return self._socket.fileno() < 0

    @property
    def is_stale(self) -> bool:
        """Whether it is closed, or its SASL session ends soon: open another one."""
        ends = self._renew_after
        return self.is_closed or (ends is not None and not self._awaited and time.monotonic() >= ends)

    def version(self, request: type[Message], at_most: int | None = None) -> int:
        """The newest version that both sides know."""
        spec = _SPECS[request.__name__]
        low, high = self._versions.get(spec.key, (0, -1))
        ours = spec.max_version if at_most is None else min(at_most, spec.max_version)
        best = min(high, ours)
        if best < max(low, spec.min_version):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{self.address} has no version of {spec.name} that is known here",
            )
        return best

    def call(self, message: Message, *, timeout_s: float | None = None, at_most: int | None = None) -> Any:
        """Send and receive; `at_most` keeps to versions up to that one."""
        self.send(message, at_most=at_most)
        return self.receive(timeout_s=timeout_s)

    def send(self, message: Message, *, at_most: int | None = None) -> None:
        spec = _SPECS[type(message).__name__]
        version, number = self.version(type(message), at_most), next(self._numbers) & 0x7FFF_FFFF
        parts = write_request(spec.key, version, number, self._client_id, message)
        try:
            self._socket.settimeout(self.timeout_s)
            for part in parts:
                self._socket.sendall(part)  # type: ignore[arg-type]  # requests hold no file ranges
        except OSError as error:
            raise self._broken(f"{spec.name} could not be sent", error) from error
        self._awaited.append((spec, version, number))

    def receive(self, *, timeout_s: float | None = None, buffer: bytearray | None = None) -> Any:
        """The answer to the oldest request that has none. Its records are views into `buffer` where that is
        given and large enough, else into memory of their own."""
        spec, version, expected = self._awaited.popleft()
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        try:
            (size,) = _SIZE.unpack(self._read(memoryview(bytearray(4)), deadline))
            if not 4 <= size <= FRAME_BYTES_MAX:
                raise ProtocolError(f"an answer of {size} bytes, limit {FRAME_BYTES_MAX}")
            if buffer is None or len(buffer) < size:
                buffer = bytearray(size)
            frame = self._read(memoryview(buffer)[:size], deadline)
            number, answer = read_response(spec.key, version, frame)
            if number != expected:
                raise ProtocolError(f"the answer has number {number}, not {expected}")
        except OSError as error:
            raise self._broken(f"{spec.name} was not answered", error) from error
        except ProtocolError as error:
            raise self._broken(f"the answer to {spec.name} cannot be read", error) from error
        return answer

    def close(self) -> None:
        self._socket.close()

    def _read(self, view: memoryview, deadline: float) -> memoryview:
        got, size = 0, len(view)
        while got < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left)
            count = self._socket.recv_into(view[got:])
            if count == 0:
                raise ConnectionResetError("the broker closed the connection")
            got += count
        return view

    def _broken(self, what: str, cause: Exception) -> Disconnected:
        self.close()
        return Disconnected(f"{self.address}: {what}: {cause}")

    def _opened(self, host: str, port: int, security: Security, timeout_s: float) -> socket.socket:
        try:
            plain = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise Disconnected(f"{self.address}: {error}") from error
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if security.tls is None:
            return plain
        try:
            return security.tls.context.wrap_socket(plain, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise SecurityError(
                f"{self.address} shows a certificate that is not trusted: {error.verify_message}; "
                "check kafka.ssl.truststore.location (PEM), or the host name in kafka.bootstrap.servers"
            ) from error
        except OSError as error:
            plain.close()
            raise Disconnected(f"{self.address}: no TLS there: {error}") from error

    def _learn_versions(self) -> None:
        """Version 3 of the question, which every broker since Kafka 2.4 answers."""
        ours = ApiVersionsRequest(
            client_software_name="tidelog-spark", client_software_version=tidelog.__version__
        )
        answer: ApiVersionsResponse = self.call(ours)
        if answer.error_code:
            raise KafkaError(ErrorCode.of(answer.error_code), f"{self.address} does not say what it can do")
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        self.features = {feature.name: feature.max_version_level for feature in answer.finalized_features}

    def _authenticate(self, sasl: Sasl) -> None:
        hands: SaslHandshakeResponse = self.call(SaslHandshakeRequest(mechanism=sasl.mechanism), at_most=1)
        if hands.error_code:
            offered = ", ".join(hands.mechanisms) or "nothing"
            raise SecurityError(
                f"{self.address} does not offer SASL {sasl.mechanism}, but {offered}; "
                "set kafka.sasl.mechanism"
            )
        talk, reply = exchange(sasl), None
        while True:
            try:
                words = talk.send(reply) if reply is not None else next(talk)
            except StopIteration:
                return
            answer: SaslAuthenticateResponse = self.call(SaslAuthenticateRequest(auth_bytes=words))
            if answer.error_code:
                raise SecurityError(
                    f"{self.address} refused {sasl.username or 'the token'}: "
                    f"{answer.error_message or ErrorCode.of(answer.error_code).text}"
                )
            if answer.session_lifetime_ms:  # renewed early, as the Java client does
                self._renew_after = time.monotonic() + 0.85 * answer.session_lifetime_ms / 1000
            reply = answer.auth_bytes
