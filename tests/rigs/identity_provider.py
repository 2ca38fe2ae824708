"""A small identity provider: its keys, the JWKS document that lists them, and tokens signed with them."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = "https://login.example"
AUDIENCE = "kafka"


class IdentityProvider:
    def __init__(self) -> None:
        self._keys = {
            key_id: rsa.generate_private_key(public_exponent=65537, key_size=2048)
            for key_id in ("earlier", "current")
        }

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Serve the keys by HTTP; gives the URL for `sasl.oauthbearer.jwks.endpoint.url`."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(provider.document())

            def log_message(self, format: str, *args: object) -> None:
                """Tests are quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/keys"
        server.shutdown()
        server.server_close()
        thread.join()

    def document(self) -> bytes:
        """The JWKS document."""
        entries = []
        for key_id, key in self._keys.items():
            entry: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            entries.append({**entry, "kid": key_id, "alg": "RS256", "use": "sig"})
        return json.dumps({"keys": entries}).encode()

    def token(self, user: str, seconds: float = 3600, **claims: object) -> str:
        now = time.time()
        given: dict[str, object] = {
            "sub": user,
            "iss": ISSUER,
            "aud": AUDIENCE,
            "scope": "kafka",
            "iat": int(now),
        }
        given |= {"exp": now + seconds, **claims}
        return jwt.encode(given, self._keys["current"], algorithm="RS256", headers={"kid": "current"})
