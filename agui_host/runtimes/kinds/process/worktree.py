"""The directory that a request names for a command: always one below the command's own."""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.errors import Invalid

KEY, MEMBER = "alpine", "worktreeDir"
"""Where clients of Alpine's dialect put it in ``forwardedProps``."""
LONGEST, DEEPEST = 200, 8


class WorktreeRefused(Invalid):
    """The command cannot work in this directory."""

    code = "worktree_refused"


def requested(props: Any) -> tuple[str, ...]:
    """The names of the directories on the way down; none if the request names none.

    Raises WorktreeRefused for a path out of the command's own directory.
    """
    request = props.get(KEY) if isinstance(props, Mapping) else None
    path = request.get(MEMBER) if isinstance(request, Mapping) else None
    if path is None:
        return ()
    parts = _parts(path) if isinstance(path, str) else None
    if parts is None:
        raise WorktreeRefused(
            "worktree_dir must be a path below the agent's own working directory: relative, "
            f"without .., at most {DEEPEST} names and {LONGEST} characters.",
            details={"path": "worktree_dir"},
        )
    return parts


def _parts(path: str) -> tuple[str, ...] | None:
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    refused = path.startswith("/") or ".." in parts or not path.isprintable()
    return None if refused or len(path) > LONGEST or len(parts) > DEEPEST else parts
