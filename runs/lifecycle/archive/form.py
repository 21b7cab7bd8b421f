"""The form of an archive: a line about the run, its events as they are stored, and a seal.

The seal is the last line. It is signed with the host's secret and names the team and the SHA-256 of
all lines before it, so a file that was cut or edited, or comes from another host or team, is
recognised as such.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer

from agui_host.protocol.encoding import text_bytes
from agui_host.protocol.errors import Invalid
from agui_host.protocol.strict_json import dumps
from runs.lifecycle.statements import figures
from runs.models import ImportedRun, Run

OPENING = b'{"archive":1,'
SEAL = b'{"seal":'
SALT = "runs.archive"
END = b"\n"


class BadArchive(Invalid):
    """The file is not the archive of a run of this team."""

    code = "bad_archive"


@dataclass(frozen=True, slots=True)
class About:
    """The run, as the first line describes it; texts as they are stored."""

    run: str
    thread: str
    agent: str
    status: str
    visibility: str
    started_by: str
    created_at: str
    started_at: str | None
    ended_at: str
    parent_run: str | None
    protocol_version: str | None
    input: str
    result: str | None
    usage: str | None
    error_code: str
    error_message: str
    figures: dict[str, float | None] = field(default_factory=dict)
    """Empty in a file of an older version."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive whose seal is whole: its first line, that line's content, and the events."""

    opening: str
    about: About
    payloads: list[bytes]


def opening(run: Run) -> bytes:
    """The first line of the run's archive; of an imported run, the one it came with."""
    stored = ImportedRun.objects.already_found().filter(run=run).values_list("opening", flat=True)
    return next((text.encode() for text in stored), None) or _described(run)


def _described(run: Run) -> bytes:
    about = About(
        run=run.run_id,
        thread=run.thread.thread_id,
        agent=run.agent.slug,
        status=run.status,
        visibility=run.thread.visibility,
        started_by=run.started_by,
        created_at=run.created_at.isoformat(),
        started_at=run.started_at.isoformat() if run.started_at else None,
        ended_at=run.ended_at.isoformat() if run.ended_at else "",
        parent_run=run.parent_run_id,
        protocol_version=run.protocol_version,
        input=run.input,
        result=run.result,
        usage=run.usage,
        error_code=run.error_code,
        error_message=run.error_message,
        figures={name: getattr(run, name) for name in figures.NAMES},
    )
    return text_bytes(dumps({"archive": 1, **asdict(about)}))


def seal(team_id: UUID, digest: str) -> bytes:
    """The last line of an archive of this team, whose other lines have this SHA-256."""
    signed = Signer(salt=SALT).sign_object({"team": str(team_id), "sha256": digest})
    return text_bytes(dumps({"seal": signed}))


def read(body: bytes, team_id: UUID) -> Archive:
    """The archive in a file. Raises BadArchive, which names the fault."""
    lines = body.split(END)
    if not lines[0].startswith(OPENING):
        raise BadArchive("This is not the archive of a run; export one with ?format=archive.")
    if lines.pop() or not lines[-1].startswith(SEAL):
        raise BadArchive("The archive is cut off: its last line, the seal, is missing.")
    last = lines.pop()
    claims = _unsealed(last)
    if claims["team"] != str(team_id):
        raise BadArchive("This is the archive of another team's run.")
    if claims["sha256"] != hashlib.sha256(body[: -len(last + END)]).hexdigest():
        raise BadArchive("The archive was changed after it was exported.")
    opening_line = json.loads(lines[0])
    names = {each.name for each in fields(About)} & opening_line.keys()
    about = About(**{name: opening_line[name] for name in names})
    return Archive(lines[0].decode(), about, lines[1:])


def _unsealed(line: bytes) -> dict[str, Any]:
    try:
        claims: dict[str, Any] = Signer(salt=SALT).unsign_object(json.loads(line)["seal"])
    except (BadSignature, ValueError, TypeError, AttributeError):
        message = "The seal of this archive was changed, or another host made it."
        raise BadArchive(message) from None
    return claims
