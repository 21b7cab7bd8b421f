"""The identity provider that the operator has named: its metadata, fetched or read from a file."""

import asyncio
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import structlog
from asgiref.sync import async_to_sync
from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.protocol.errors import HostError
from agui_host.security import outbound

log = structlog.get_logger(__name__)
TIMEOUT, MOST_BYTES = 10.0, 4_000_000
FRESH, AGAIN, LONGEST = 3_600.0, 60.0, 7 * 86_400.0
"""Seconds until metadata are fetched again, also after a failure, and as they are used."""
FIRST, WAIT = 5.0, 2.0
"""Seconds until the next try where there are none yet, and for which a sign-in waits for that of
another one. Anybody can begin a sign-in: a provider that hangs must not hold more than a thread."""

SIGNING = "//md:IDPSSODescriptor/md:KeyDescriptor[not(@use='encryption')]//ds:X509Certificate"


class Lost(Exception):
    """There is no metadata, or none that we can use."""


@dataclass(frozen=True)
class IdentityProvider:
    """Whose signatures count, and where people sign in."""

    entity_id: str
    sso_url: str
    certificates: tuple[str, ...]


@dataclass
class _Cached:
    provider: IdentityProvider | None = None
    fetched: float = 0.0
    tried: float = float("-inf")

    def pause(self) -> float:
        """Seconds from the last try to the next one."""
        if self.provider is None:
            return FIRST
        return FRESH if self.tried == self.fetched else AGAIN


_cache: dict[str, _Cached] = {}
_fetching = threading.Lock()


def known() -> IdentityProvider:
    """The provider of AGUI_SAML_METADATA_URL or AGUI_SAML_METADATA_FILE. Raises Lost."""
    if not (url := settings.AGUI_SAML_METADATA_URL):
        try:
            return parsed(Path(settings.AGUI_SAML_METADATA_FILE).read_bytes())
        except OSError as error:
            raise Lost(repr(error)) from None
    entry = _cache.setdefault(url, _Cached())
    if time.monotonic() - entry.tried >= entry.pause() and _fetching.acquire(
        timeout=WAIT if entry.provider is None else 0
    ):
        try:
            if time.monotonic() - entry.tried >= entry.pause():  # else another one has just tried
                _renew(entry, url)
        finally:
            _fetching.release()
    if entry.provider is None:
        raise Lost(f"{url} did not answer a moment ago, or has not answered yet")
    return entry.provider


def _renew(entry: _Cached, url: str) -> None:
    """Fetch the metadata. Raises Lost if they do not come and none are kept."""
    try:
        entry.provider = parsed(async_to_sync(_fetched)(url))
        entry.fetched = entry.tried = time.monotonic()
    except Lost as error:
        entry.tried = time.monotonic()
        if entry.provider is None or entry.tried - entry.fetched > LONGEST:
            entry.provider = None
            raise
        log.warning("saml.metadata_lost", error=str(error))


def forget() -> None:
    """Fetch the metadata again at the next sign-in."""
    _cache.clear()


async def _fetched(url: str) -> bytes:
    text = bytearray()
    try:
        async with (
            asyncio.timeout(TIMEOUT),
            outbound.client(timeout=TIMEOUT) as client,
            client.stream("GET", url) as answer,
        ):
            if answer.status_code != 200:
                raise Lost(f"{url} answered {answer.status_code}")
            async for piece in answer.aiter_bytes():
                text += piece
                if len(text) > MOST_BYTES:
                    raise Lost(f"{url} sent more than {MOST_BYTES} bytes")
    except (httpx.HTTPError, HostError, TimeoutError) as error:
        raise Lost(f"{url}: {error!r}") from None
    return bytes(text)


def parsed(text: bytes) -> IdentityProvider:
    """The one provider that the metadata describes. Raises Lost."""
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML as Xml

    try:
        root = Xml.to_etree(text)
        entities = Xml.query(root, "//md:EntityDescriptor[md:IDPSSODescriptor]")
        if len(entities) != 1 or len(Xml.query(root, "//md:EntityDescriptor")) != 1:
            raise Lost("the metadata must describe one identity provider")
        _refuse_former([root, *entities])
        idp = Parser.parse(text).get("idp", {})
        nodes = Xml.query(root, SIGNING)
        certificates = tuple("".join((node.text or "").split()) for node in nodes)
        if not (idp.get("entityId") and all(certificates or [""]) and _is_web(sso := _sso(idp))):
            raise Lost("the metadata lacks an entity id, a certificate or an HTTP-Redirect address")
    except (ValueError, SyntaxError) as error:  # lxml's is a SyntaxError
        raise Lost(f"the metadata cannot be parsed: {error}") from None
    return IdentityProvider(idp["entityId"], sso, certificates)


def _sso(idp: dict[str, dict[str, str]]) -> str:
    return idp.get("singleSignOnService", {}).get("url") or ""


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://"))


def _refuse_former(nodes: list[object]) -> None:
    """Raises Lost for metadata that were valid until a moment in the past."""
    for node in nodes:
        if until := node.get("validUntil"):  # type: ignore[attr-defined]
            moment = datetime.fromisoformat(until)
            if (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < clock.now():
                raise Lost(f"the metadata were valid until {until}")
