"""The client's side of SASL for a blocking connection: tokens are fetched here, messages made below."""

import base64
import json
import os
from typing import TYPE_CHECKING

from tidelog.blocking.errors import LoginRefused, SecurityError
from tidelog.blocking.security import Sasl
from tidelog.security.sasl import client
from tidelog.security.sasl.client import Exchange, SaslRefused, TokenRefused

if TYPE_CHECKING:
    from urllib.request import Request

TOKEN_ANSWER_BYTES_MAX = 1 << 20
TOKEN_TIMEOUT_S = 10.0


def exchange(sasl: Sasl, option_prefix: str = "") -> Exchange:
    if sasl.mechanism == "PLAIN":
        return client.plain(sasl.username, sasl.password)
    if sasl.mechanism == "OAUTHBEARER":
        token = sasl.token if sasl.token is not None else fetch_token(sasl, option_prefix)
        return _checked(client.bearer(token, sasl.extensions))
    nonce = base64.b64encode(os.urandom(24)).decode()
    return scram(sasl.mechanism, sasl.username, sasl.password, nonce, is_token=sasl.is_token)


def scram(mechanism: str, username: str, password: str, nonce: str, *, is_token: bool = False) -> Exchange:
    return _checked(client.scram(mechanism, username, password, nonce, is_token=is_token))


def _checked(steps: Exchange) -> Exchange:
    """With the errors of this client."""
    try:
        yield from steps
    except TokenRefused as refused:
        raise LoginRefused(str(refused)) from refused
    except SaslRefused as refused:
        raise SecurityError(str(refused)) from refused


def fetch_token(sasl: Sasl, option_prefix: str = "") -> str:
    """Fetches a token by OAuth's client-credentials grant."""
    import urllib.request  # a third of what the whole client needs to be imported, and few use tokens
    from http.client import HTTPException

    endpoint = sasl.token_endpoint or ""
    if not endpoint.startswith(("https://", "http://")):
        raise SecurityError(
            f"{option_prefix}sasl.oauthbearer.token.endpoint.url is {endpoint!r}, which is no http address"
        )
    try:
        with urllib.request.urlopen(token_request(sasl, endpoint), timeout=TOKEN_TIMEOUT_S) as answer:
            return str(json.loads(answer.read(TOKEN_ANSWER_BYTES_MAX))["access_token"])
    except (HTTPException, OSError, ValueError, KeyError, TypeError) as error:
        raise SecurityError(f"no token from {endpoint}: {error!r}") from error


def token_request(sasl: Sasl, endpoint: str) -> "Request":
    from urllib.parse import urlencode
    from urllib.request import Request

    form = {"grant_type": "client_credentials"} | ({"scope": sasl.scope} if sasl.scope else {})
    login = base64.b64encode(f"{sasl.username}:{sasl.password}".encode()).decode()
    request = Request(endpoint, urlencode(form).encode(), {"Accept": "application/json"})
    # The password is for this address, not for another one to which it may redirect.
    request.add_unredirected_header("Authorization", f"Basic {login}")
    return request
