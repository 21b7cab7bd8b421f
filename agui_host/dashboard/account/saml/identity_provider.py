"""The identity provider that the operator has named: its metadata, fetched or read from a file."""

import asyncio
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
    provider: IdentityProvider
    fetched: float
    tried: float


_cache: dict[str, _Cached] = {}


def known() -> IdentityProvider:
    """The provider of AGUI_SAML_METADATA_URL or AGUI_SAML_METADATA_FILE. Raises Lost."""
    if not (url := settings.AGUI_SAML_METADATA_URL):
        try:
            return parsed(Path(settings.AGUI_SAML_METADATA_FILE).read_bytes())
        except OSError as error:
            raise Lost(repr(error)) from None
    now = time.monotonic()
    entry = _cache.get(url)
    if entry is not None and now - entry.tried < (FRESH if entry.tried == entry.fetched else AGAIN):
        return entry.provider
    try:
        provider = parsed(async_to_sync(_fetched)(url))
    except Lost as error:
        if entry is None or now - entry.fetched > LONGEST:
            raise
        log.warning("saml.metadata_lost", error=str(error))
        entry.tried = now
        return entry.provider
    _cache[url] = _Cached(provider, now, now)
    return provider


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
