"""The HTTP verifier: asks a service, such as DeepCitation's own."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, HttpUrl, SecretStr

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import Options
from agui_host.runtimes.middleware.citing.extract import Citation
from agui_host.runtimes.middleware.citing.verifiers import LONGEST_MATCH, STATUSES, Verifier
from agui_host.runtimes.middleware.keys import StoredSecret
from agui_host.security import outbound

LARGEST = 1024 * 1024
_FLAGS = {
    "isVerified": "verified",
    "isPartialMatch": "partial",
    "isMiss": "missed",
    "isPending": "pending",
}


class HttpOptions(Options):
    """``api_key`` is sent as a bearer token and sealed at rest; ``verify_options`` unchanged."""

    kind: Literal["http"]
    url: HttpUrl
    api_key: SecretStr | StoredSecret | None = None
    verify_options: dict[str, Any] = {}
    request_timeout: float = Field(20, gt=0, le=300)


class HttpVerifier(Verifier):
    """POST ``{citations: {key: citation}, options}`` → ``{verifications: {key: {status, …}}}``.

    Of the run only the citation itself is sent. Every request passes the outbound guard.
    """

    def __init__(self, options: HttpOptions, ctx: RunContext) -> None:
        self._options = options
        key, headers = options.api_key, {}
        if isinstance(key, SecretStr):
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        self._client = outbound.client(timeout=options.request_timeout, headers=headers)

    async def verify(self, citation: Citation) -> dict[str, Any]:
        """Raises httpx.HTTPError, AddressRefused or ValueError if there is no usable answer."""
        question = {"citations": {citation.key: citation.wire()}}
        body = {**question, "options": self._options.verify_options}
        async with self._client.stream("POST", str(self._options.url), json=body) as response:
            response.raise_for_status()
            answer = b""
            async for part in response.aiter_bytes():
                answer += part
                if len(answer) > LARGEST:
                    raise ValueError("the answer is too large")
        return _read(json.loads(answer), citation.key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _read(answer: Any, key: str) -> dict[str, Any]:
    """The part of a remote answer that may enter the state."""
    try:
        verification = answer["verifications"][key]
        status = verification.get("status") or next(
            n for f, n in _FLAGS.items() if verification.get(f) is True
        )
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise ValueError("the answer has no verification of this citation") from None
    if not isinstance(status, str) or status not in STATUSES:
        raise ValueError("the answer has an unknown status")
    return {"status": status} | dict(_allowed_members(verification))


def _allowed_members(verification: Mapping[str, Any]) -> Any:
    score, proof = verification.get("score"), verification.get("proofUrl")
    if isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1:
        yield "score", score
    for name in ("source", "match"):
        if isinstance(verification.get(name), str):
            yield name, verification[name][:LONGEST_MATCH]
    if isinstance(proof, str) and proof.startswith("https://") and len(proof) <= 2000:
        yield "proofUrl", proof
