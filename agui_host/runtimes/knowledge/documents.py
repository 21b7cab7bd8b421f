"""The team's documents: upload, delete, and find the pieces that answer a question."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.search import SearchQuery, SearchRank
from django.db import transaction
from django.db.models import F, Value

from agui_host.errors import Conflict, NotFound, TooLarge
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.caller import Caller
from agui_host.runtimes.knowledge.chunking import pieces
from agui_host.runtimes.knowledge.models import Document, DocumentChunk, MediaType
from agui_host.teams import audit
from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamQuerySet

MOST_WORDS = 40
LONGEST_QUESTION = 4_000


class KnowledgeFull(Conflict):
    """The team has as many documents or notes as it may have; delete one first."""

    code = "knowledge_full"


def require_inside(who: Caller) -> None:
    """Allows people of the team, and keys that may manage agents: clients hold client keys.

    Raises Forbidden.
    """
    who.require("view")
    if who.kind != "user":
        who.require("manage_agents")


def visible(who: Caller) -> TeamQuerySet[Document]:
    """The team's documents, without their text."""
    who.require("view_team")
    return Document.objects.for_team(who.team).defer("text")


def find(who: Caller, document_id: UUID) -> Document:
    """One of them. Raises NotFound."""
    if (row := visible(who).filter(pk=document_id).first()) is None:
        raise NotFound("There is no such document.")
    return row


def upload(who: Caller, values: Mapping[str, str]) -> Document:
    """Store ``title``, ``media_type``, ``text``. Raises what ``store`` raises, and Forbidden."""
    who.require("manage_agents")
    document = Document(team=who.team, **values)
    with transaction.atomic():
        store(document, who.label)
        details = {"media_type": document.media_type, "bytes": document.size}
        audit.record(who, who.team, "document.uploaded", str(document.pk), **details)
    return document


def delete(who: Caller, document_id: UUID) -> None:
    """Delete a document; runs that were given parts of it keep those. Raises NotFound."""
    find(who, document_id)
    who.require("manage_agents")
    with transaction.atomic():
        count, _ = Document.objects.for_team(who.team).filter(pk=document_id).delete()
        if count:
            audit.record(who, who.team, "document.deleted", str(document_id))


def store(document: Document, by: str) -> None:
    """Save a new document with its pieces; the caller records it.

    Raises what ``check`` raises, and KnowledgeFull.
    """
    check(document, document.text)
    document.uploaded_by = by
    with transaction.atomic():
        room(document.team, Document, settings.AGUI_DOCUMENTS_MAX)
        document.save(force_insert=True)
        cut = enumerate(pieces(document.title, document.media_type, document.text))
        DocumentChunk.objects.bulk_create(
            [
                DocumentChunk(
                    team_id=document.team_id,
                    document=document,
                    position=position,
                    heading=heading,
                    text=piece,
                )
                for position, (heading, piece) in cut
            ],
            batch_size=500,
        )
    document.refresh_from_db(fields=["created_at"])


def check(document: Document, text: str) -> None:
    """Set a document's text. Raises Invalid (unknown type, empty, NUL in it), TooLarge."""
    document.title, document.text = storable("title", document.title), storable("text", text)
    if document.media_type not in MediaType.values:
        known = ", ".join(MediaType.values)
        raise Invalid(f"media_type must be one of {known}.", details=_at("media_type"))
    document.size, most = len(text.encode()), settings.AGUI_DOCUMENT_MAX_BYTES
    if document.size > most:
        raise TooLarge(f"A document can have at most {most} bytes.", details={"limit": most})


def storable(name: str, text: str) -> str:
    """The text, if it is not empty and can be stored. Raises Invalid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"{name} contains an unpaired surrogate (invalid Unicode).", details=_at(name)
        ) from None
    if "\x00" in text or not text.strip():
        raise Invalid(
            f"{name} must be text that is not empty and contains no NUL.", details=_at(name)
        )
    return text


def room(team: Team, kind: type[Any], most: int) -> None:
    """Check that one more fits. Locks the team's row until commit. Raises KnowledgeFull."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if kind.objects.for_team(team).count() >= most:
        raise KnowledgeFull(details={"max": most})


def search(team: Team, question: str, most: int) -> list[DocumentChunk]:
    """The best matching pieces, best first, each with its ``document``.

    Takes the syntax of search engines ("exact phrase", -without, or). If no piece contains all
    words, any of the words will do.
    """
    clean = question[:LONGEST_QUESTION].replace("\x00", " ").encode(errors="replace").decode()
    words = list(dict.fromkeys(re.findall(r"\w+", clean)))[:MOST_WORDS]
    whole = " ".join(clean.split()[:MOST_WORDS])
    return _ranked(team, whole, most) or _ranked(team, " or ".join(words), most)


def _ranked(team: Team, text: str, most: int) -> list[DocumentChunk]:
    query = SearchQuery(text, search_type="websearch", config="english")
    rank = SearchRank(F("search"), query, cover_density=True, normalization=Value(32))
    rows = DocumentChunk.objects.for_team(team).filter(search=query)
    matches = rows.select_related("document").defer("document__text", "search")
    return list(matches.annotate(rank=rank).order_by("-rank", "document_id", "position")[:most])


def _at(name: str) -> dict[str, str]:
    return {"path": name}
