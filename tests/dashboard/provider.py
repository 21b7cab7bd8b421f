"""A small OpenID provider on loopback: discovery, authorize (with PKCE), token, jwks, userinfo."""

import base64
import hashlib
import json
import secrets
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "agui", "the-client-secret-of-the-tests-0001"


class Served:
    """A server on loopback while a ``with`` block lasts; ``paths`` are those of its requests."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1") -> None:
        self.paths: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://{host}:{self.server.server_port}"
        # It looks twice a second whether it is to end, unless told otherwise.
        self._thread = Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(10)


@cache
def usual_key() -> rsa.RSAPrivateKey:
    """To make one takes as long as a sign-in."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider(Served):
    """Signs everybody in as ``person``, whose claims a test may change."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {
            "sub": "248289761001",
            "preferred_username": "dora",
            "email": "dora@example.com",
            "email_verified": True,
        }
        self.key = usual_key()
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        super().__init__(self._handler())

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }

    def jwks(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser goes next: it is signed in here already."""
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        request = self.codes.pop(form.get("code", ""), None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        known = (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        if request is None or not known or challenge != request["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        access = secrets.token_urlsafe(16)
        self.tokens.add(access)
        now = int(time.time())
        claims = {**self.person, "iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300}
        signed = jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "1"})
        return 200, {"access_token": access, "token_type": "Bearer", "id_token": signed}

    def userinfo(self, authorization: str) -> tuple[int, dict[str, Any]]:
        if authorization.removeprefix("Bearer ") not in self.tokens:
            return 401, {"error": "invalid_token"}
        return 200, self.person

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                place = urlsplit(self.path)
                provider.paths.append(place.path)
                if place.path == "/authorize":
                    query = {name: values[0] for name, values in parse_qs(place.query).items()}
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(query))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                elif place.path == "/.well-known/openid-configuration":
                    self.answer(200, provider.discovery())
                elif place.path == "/jwks":
                    self.answer(200, provider.jwks())
                elif place.path == "/userinfo":
                    self.answer(*provider.userinfo(self.headers.get("Authorization", "")))
                else:
                    self.answer(404, {})

            def do_POST(self) -> None:
                provider.paths.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                self.answer(*(provider.token(form) if self.path == "/token" else (404, {})))

            def answer(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler
