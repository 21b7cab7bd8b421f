"""Why an agent failed, for its team's admins: the exception, its frames, the last log lines."""

import hashlib
import os
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

from agui_host.protocol.encoding import clean_text
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.context.log_lines import Line
from agui_host.runtimes.models import Agent
from agui_host.security.scrub import known, scrubbed
from agui_host.security.secrets import SecretUnreadable
from runs.models import Failure, Run

LONGEST_MESSAGE = 4_000
LONGEST_LINE = 500
MOST_FRAMES = 20
MOST_CAUSES = 3
_HOST = Path(__file__).resolve().parents[2]
_ROOMS = ("agui_host", "agui_project", "events", "runs")
_SHIPPED = str(_HOST / "agui_host" / "runtimes" / "builtin") + os.sep
_NOT_THE_AGENTS = (
    *(str(_HOST / room) + os.sep for room in _ROOMS),
    *{sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")},
)


def describe(agent: Agent, error: BaseException | None, lines: Iterable[Line]) -> dict[str, Any]:
    """The details to store: JSON values of at most about 50 KB, without secrets.

    ``error`` is None if the agent ended its run with its own error event.
    """
    secrets = known(_sealed(agent), agent.settings)

    def clean(text: str, longest: int) -> str:
        # Cut first, so that a huge text costs little; then again, since a mask can be longer.
        return scrubbed(text[: 2 * longest], secrets)[:longest]

    return {
        "exception": None if error is None else _name(error),
        "message": None if error is None else clean(_message(error), LONGEST_MESSAGE),
        "causes": [
            {"exception": _name(cause), "message": clean(_message(cause), LONGEST_LINE)}
            for cause in islice(_causes(error), MOST_CAUSES)
        ],
        "frames": [] if error is None else _frames(error.__traceback__),
        "log": [
            {"at": line.at, "level": line.level, "text": clean(line.text, LONGEST_LINE)}
            for line in lines
        ],
    }


def storing(run: Run, error: BaseException | None, lines: Iterable[Line]) -> Callable[[], None]:
    """``describe`` now, and ``store`` for the transaction that stores the run's end."""
    return partial(store, run.pk, run.team_id, describe(run.agent, error, lines))


def store(run_id: UUID, team_id: UUID, details: dict[str, Any]) -> None:
    """Store it, in the transaction that stores the run's end."""
    # An agent's text can contain NUL, which JSON escapes, and unpaired surrogates.
    row = Failure(
        run_id=run_id,
        team_id=team_id,
        details=clean_text(dumps(details)),
        fingerprint=_fingerprint(details),
    )
    Failure.objects.bulk_create([row], ignore_conflicts=True)


def _fingerprint(details: dict[str, Any]) -> str:
    """The same for exceptions of one type from one function; empty without an exception.

    Neither messages nor lines count: they differ from run to run and from edit to edit.
    """
    if details["exception"] is None:
        return ""
    frame = details["frames"][-1] if details["frames"] else {}
    causes = [cause["exception"] for cause in details["causes"]]
    place = [details["exception"], causes, frame.get("module"), frame.get("function")]
    return hashlib.sha256(dumps(place).encode(errors="replace")).hexdigest()[:32]


def _sealed(agent: Agent) -> dict[str, Any]:
    try:
        return agent.unsealed()
    except SecretUnreadable:
        return {}


def _name(error: BaseException) -> str:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"[:LONGEST_LINE]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    known = {id(error)}
    while error is not None:
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
        if error is None or id(error) in known:
            return
        known.add(id(error))
        yield error


def _frames(traceback: TracebackType | None) -> list[dict[str, Any]]:
    """The innermost frames of the agent's own modules, outermost first; no values of variables."""
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if _is_the_agents(code.co_filename):
            module = traceback.tb_frame.f_globals.get("__name__", "")
            frames.append(
                {
                    "module": str(module)[:LONGEST_LINE],
                    "file": os.path.basename(code.co_filename)[:LONGEST_LINE],
                    "line": traceback.tb_lineno,
                    "function": code.co_qualname[:LONGEST_LINE],
                }
            )
        traceback = traceback.tb_next
    return frames[-MOST_FRAMES:]


def _is_the_agents(path: str) -> bool:
    if path.startswith(_SHIPPED):
        return True
    return not path.startswith((*_NOT_THE_AGENTS, "<frozen"))
