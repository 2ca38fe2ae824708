"""A blocking connection to one broker: requests on our codec, answers in order, a time limit on each.

Every failure of the network is a `Disconnected`; it closes the connection. Requests may be sent ahead of
their answers (`send`, `send`, `receive`, `receive`), which is how reading overlaps decoding. A `call` in
between keeps the answers before its own for `receive`.
"""

import itertools
import select
import socket
import ssl
import struct
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import tidelog
from tidelog.base.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.blocking.errors import (
    BadAnswer,
    CertificateWanted,
    Disconnected,
    LoginRefused,
    MechanismRefused,
    NoAnswer,
    UntrustedBroker,
)
from tidelog.wire.apis import API, ApiKey, ApiSpec
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from tidelog.blocking.security import Sasl, Security

M = TypeVar("M", bound=Message)

FRAME_BYTES_MAX = 1 << 30
"""Of an answer. A larger one comes from no broker, or a fetch asked for too much at once."""

_SIZE = struct.Struct(">i")
_SPECS = {f"{spec.name}Request": spec for spec in API.values()}
_BEFORE_VERSIONS = {int(ApiKey.API_VERSIONS): (3, 3)}
_UNSUPPORTED_VERSION = struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)


class Connection:
    def __init__(
        self,
        host: str,
        port: int,
        *,
        security: "Security | None" = None,
        client_id: str = "tidelog",
        connect_timeout_s: float = 10.0,
        timeout_s: float = 30.0,
    ) -> None:
        self.address = f"{host}:{port}"
        self.timeout_s = timeout_s
        self._client_id = client_id
        self._security = security
        self._numbers = itertools.count(1)
        self._awaited: deque[tuple[ApiSpec, int, int]] = deque()
        self._kept: deque[Any] = deque()  # answers that a `call` had to read before its own
        self._versions: dict[int, tuple[int, int]] = dict(_BEFORE_VERSIONS)
        self._socket = self._opened(host, port, security, connect_timeout_s)
        self._renew_after: float | None = None
        self.features: dict[str, int] = {}
        """The level of each feature that the cluster has finalized, such as transaction.version."""
        try:
            self._learn_versions()
        except Disconnected as error:
            self.close()
            if isinstance(error.__cause__, ssl.SSLError):
                self._raise_if_unwanted(error.__cause__, security)
            raise
        except BaseException:
            self.close()
            raise
        try:
            if security is not None and security.sasl is not None:
                self._authenticate(security.sasl, security.option_prefix)
        except BaseException:
            self.close()
            raise

    @property
    def is_closed(self) -> bool:
        return self._socket.fileno() < 0

    @property
    def is_stale(self) -> bool:
        """Whether to open a new connection: the broker closed this one, or its SASL session ends soon."""
        if self.is_closed:
            return True
        if self._awaited:
            return False
        ends = self._renew_after
        return self._is_readable() or (ends is not None and time.monotonic() >= ends)

    def _is_readable(self) -> bool:
        """Between requests only the end of the stream can be there to read."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def offers(self, api: int) -> bool:
        """Returns whether the broker takes requests of this key, in whatever version."""
        return api in self._versions

    def version(self, request: type[Message], *, at_least: int = 0, at_most: int | None = None) -> int:
        """Returns the newest version that both sides support, within these bounds."""
        spec = _SPECS[request.__name__]
        low, high = self._versions.get(spec.key, (0, -1))
        ours = spec.max_version if at_most is None else min(at_most, spec.max_version)
        best = min(high, ours)
        if best < max(low, spec.min_version, at_least):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{self.address} does not offer {spec.name}{f' version {at_least}' if at_least else ''}",
            )
        return best

    def call(
        self,
        message: Message,
        *,
        timeout_s: float | None = None,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> Any:
        """Sends the request and receives its answer, in a version within these bounds."""
        self.send(message, at_least=at_least, at_most=at_most)
        while len(self._awaited) > 1:
            self._kept.append(self._receive_next(None, None))
        return self._receive_next(timeout_s, None)

    def send(self, message: Message, *, at_least: int = 0, at_most: int | None = None) -> None:
        spec = _SPECS[type(message).__name__]
        version = self.version(type(message), at_least=at_least, at_most=at_most)
        number = next(self._numbers) & 0x7FFF_FFFF
        parts = write_request(spec.key, version, number, self._client_id, message)
        try:
            self._socket.settimeout(self.timeout_s)
            for part in parts:
                self._socket.sendall(part)  # type: ignore[arg-type]  # requests hold no file ranges
        except OSError as error:
            raise self._broken(f"{spec.name} could not be sent", error) from error
        self._awaited.append((spec, version, number))

    def receive(self, *, timeout_s: float | None = None, buffer: bytearray | None = None) -> Any:
        """Returns the answer to the oldest unanswered request. Its records are views into `buffer` where that
        is given and large enough, else into memory of their own."""
        return self._kept.popleft() if self._kept else self._receive_next(timeout_s, buffer)

    def _receive_next(self, timeout_s: float | None, buffer: bytearray | None) -> Any:
        spec, version, expected = self._awaited.popleft()
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        try:
            (size,) = _SIZE.unpack(self._read(memoryview(bytearray(4)), deadline))
            if not 4 <= size <= FRAME_BYTES_MAX:
                raise ProtocolError(f"an answer of {size} bytes, limit {FRAME_BYTES_MAX}")
            if buffer is None or len(buffer) < size:
                buffer = bytearray(size)
            frame = self._read(memoryview(buffer)[:size], deadline)
            if spec.key == ApiKey.API_VERSIONS and frame[4:6] == _UNSUPPORTED_VERSION:
                version = 0  # a broker that does not have the version of this request answers in the first
            number, answer = read_response(spec.key, version, frame)
            if number != expected:
                raise ProtocolError(f"the answer has number {number}, not {expected}")
        except OSError as error:
            kind = NoAnswer if isinstance(error, TimeoutError) else Disconnected
            raise self._broken(f"{spec.name} was not answered", error, kind) from error
        except ProtocolError as error:
            raise self._broken(f"the answer to {spec.name} cannot be read", error, BadAnswer) from error
        return answer

    def renew_login(self) -> None:
        """Authenticate again on the same connection where the SASL session ends soon (KIP-368): for callers
        that would lose something with the connection."""
        security, ends = self._security, self._renew_after
        if security is None or security.sasl is None or ends is None or time.monotonic() < ends:
            return
        self._renew_after = None
        self._authenticate(security.sasl, security.option_prefix)

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

    def _broken(self, what: str, cause: Exception, kind: type[Disconnected] = Disconnected) -> Disconnected:
        self.close()
        return kind(f"{self.address}: {what}: {cause}")

    def _opened(self, host: str, port: int, security: "Security | None", timeout_s: float) -> socket.socket:
        try:
            plain = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise Disconnected(f"{self.address}: {error}") from error
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if security is None or security.tls is None:
            return plain
        try:
            return security.tls.context.wrap_socket(plain, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            prefix = security.option_prefix
            raise UntrustedBroker(
                f"{self.address} shows a certificate that is not trusted: {error.verify_message}; check "
                f"{prefix}ssl.truststore.location (PEM), or the host name in {prefix}bootstrap.servers",
                error.verify_code,
                error.verify_message,
            ) from error
        except OSError as error:
            plain.close()
            if isinstance(error, ssl.SSLError):
                self._raise_if_unwanted(error, security)
            raise Disconnected(f"{self.address}: no TLS there: {error}") from error
        except BaseException:
            plain.close()
            raise

    def _raise_if_unwanted(self, error: ssl.SSLError, security: "Security | None") -> None:
        """TLS 1.3 says so only after the handshake, where an answer is awaited."""
        alert = error.reason or ""
        if "ALERT" not in alert or not any(word in alert for word in ("CERTIFICATE", "UNKNOWN_CA", "ACCESS")):
            return
        prefix = security.option_prefix if security is not None else ""
        has_one = security is not None and security.tls is not None and security.tls.has_certificate
        raise CertificateWanted(
            f"{self.address} does not accept the certificate of the client ({_words(alert)}); check "
            f"{prefix}ssl.keystore.location"
            if has_one
            else f"{self.address} wants a certificate of the client, and the client has none; set "
            f"{prefix}ssl.keystore.location (PEM or PKCS12)"
        ) from error

    def _learn_versions(self) -> None:
        """Sends version 3, which every broker since Kafka 2.4 has; the first version to an older broker."""
        ours = ApiVersionsRequest(client_software_name="tidelog", client_software_version=tidelog.__version__)
        answer: ApiVersionsResponse = self.call(ours)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            self._versions = {int(ApiKey.API_VERSIONS): (0, 0)}
            answer = self.call(ours)
        if answer.error_code:
            raise KafkaError(
                ErrorCode.of(answer.error_code), f"{self.address} does not list the requests that it takes"
            )
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        self.features = {feature.name: feature.max_version_level for feature in answer.finalized_features}

    def _authenticate(self, sasl: "Sasl", option_prefix: str) -> None:
        from tidelog.blocking.sasl import exchange
        from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
        from tidelog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

        hands: SaslHandshakeResponse = self.call(SaslHandshakeRequest(mechanism=sasl.mechanism), at_most=1)
        if hands.error_code:
            offered = ", ".join(hands.mechanisms) or "nothing"
            raise MechanismRefused(
                f"{self.address} does not offer SASL {sasl.mechanism}, but {offered}; "
                f"set {option_prefix}sasl.mechanism",
                hands.mechanisms,
            )
        steps, reply = exchange(sasl, option_prefix), None
        while True:
            try:
                message = steps.send(reply) if reply is not None else next(steps)
            except StopIteration:
                return
            answer: SaslAuthenticateResponse = self.call(SaslAuthenticateRequest(auth_bytes=message))
            if answer.error_code:
                raise LoginRefused(
                    f"{self.address} refused {sasl.username or 'the token'}: "
                    f"{answer.error_message or ErrorCode.of(answer.error_code).text}"
                )
            if answer.session_lifetime_ms:  # renewed early, as the Java client does
                self._renew_after = time.monotonic() + 0.85 * answer.session_lifetime_ms / 1000
            reply = answer.auth_bytes


def _words(alert: str) -> str:
    """`TLSV1_ALERT_UNKNOWN_CA` as `unknown ca`."""
    return alert.partition("ALERT_")[2].replace("_", " ").lower()
