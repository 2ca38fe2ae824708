"""Tokens for OAUTHBEARER, fetched from an endpoint as the standard's client-credentials grant says."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.sasl import exchange, fetch_token
from tidelog.blocking.security import Sasl
from tidelog.blocking.security_options import security_of

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        login = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        known = (login, form) == ("me:secret", "grant_type=client_credentials&scope=read")
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": "abc", "expires_in": 60}).encode())

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()


def test_a_token_is_fetched_and_shown(endpoint: str) -> None:
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint,
        "sasl.jaas.config": f'{MODULE} required clientId="me" clientSecret="secret" scope="read";',
    }
    sasl = security_of(options).sasl
    assert sasl is not None
    assert next(exchange(sasl)) == b"n,,\x01auth=Bearer abc\x01\x01"


def test_a_refusal_is_told_with_the_place(endpoint: str) -> None:
    with pytest.raises(SecurityError, match=rf"no token from {endpoint}.*401"):
        fetch_token(Sasl("OAUTHBEARER", "me", "wrong", token_endpoint=endpoint))
