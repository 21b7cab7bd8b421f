"""Whose a data directory is: only its owner starts engines there, so that the owner's next start
finds nothing that belongs to somebody else."""

import os
import pwd
from pathlib import Path


def problem(data: Path) -> str | None:
    """Why this account may not write to ``data``, in a line for people, or None."""
    place = str(data)
    while not os.path.exists(place):  # also what this account cannot see
        place = os.path.dirname(place)
    whose, me = os.stat(place).st_uid, os.geteuid()
    # Root could write there, but what it left would be root's.
    foreign = me == 0 != whose and place == str(data)
    effective = os.access in os.supports_effective_ids
    if os.access(place, os.W_OK | os.X_OK, effective_ids=effective) and not foreign:
        return None
    where = f"AGUI_DATA_DIR: {data}" + ("" if place == str(data) else f" cannot be made: {place}")
    if whose == me:
        return f"{where} is not writable; name another directory, or correct its mode."
    return (
        f"{where} belongs to {_name(whose)}, and this is {_name(me)}; run the command as "
        f"{_name(whose)}, or set AGUI_DATA_DIR to a directory of your own."
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
