"""The fingerprint of a failure: equal for failures of one agent that differ in values only."""

import re
from hashlib import sha256
from uuid import UUID

from agui_host.protocol.fold.face import preview
from agui_host.protocol.strict_json import dumps_ascii
from runs.models.insight.issue import LONGEST_MESSAGE

READ = 10 * LONGEST_MESSAGE
"""Characters of an error that are read: an agent can write megabytes."""
_QUOTED = re.compile(r'"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|«[^»\n]*»|(?<!\w)\'[^\'\n]*\'(?!\w)')
_ADDRESS = re.compile(r"\b\w+://\S+|\b[\w.+-]+@[\w-]+\.[\w.-]+")
# A word with a digit: a number, a UUID, a hash, `ord_81f`; and several of them with signs between.
_VALUE = re.compile(r"[+-]?\b[\w-]*\d[\w-]*\b(?:[.,:/%][\w-]*\d[\w-]*\b)*")


def normalised(message: str) -> str:
    """The message with its quoted values, addresses, numbers and ids replaced."""
    text = _QUOTED.sub("“…”", " ".join(message[:READ].split()))
    return preview(_VALUE.sub("#", _ADDRESS.sub("<address>", text)))


def fingerprint(agent: UUID, code: str, message: str, raised: str = "") -> str:
    """The digest of an agent, an error code and a normalised message.

    An exception has the same message whatever it is; ``raised`` is the ``Failure.fingerprint``.
    """
    text = dumps_ascii([str(agent), code, message, *filter(None, [raised])])
    return sha256(text.encode()).hexdigest()[:32]
