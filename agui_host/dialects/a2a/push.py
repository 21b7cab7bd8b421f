"""Where an A2A client wants to hear of its task: the TaskPushNotificationConfig of a request."""

import re
from dataclasses import dataclass, replace
from typing import Any

from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.fields import wrong

Json = dict[str, Any]
LONGEST_URL, LONGEST_NAME, LONGEST_SECRET = 2_000, 64, 4_000
_VISIBLE = re.compile(r"[!-~]+(?: [!-~]+)*")
"""The characters of a header; line breaks in it would begin another one."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class PushConfig:
    """``name`` is the client's id for it, maybe empty, like the credentials for its requests."""

    name: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""

    def named(self, name: str) -> "PushConfig":
        """The config under its own name, or else under this: put again, it is one config."""
        return self if self.name else replace(self, name=name)

    def wire(self, task: str) -> Json:
        """The config as A2A has it, without the credentials, which need not be shown again."""
        members = {"id": self.name, "taskId": task, "url": self.url}
        members |= {"token": self.token} if self.token else {}
        return {**members, **({"authentication": {"scheme": self.scheme}} if self.scheme else {})}


def read(body: Any) -> PushConfig:
    """Read a config. Raises BadRequest or Invalid."""
    if not isinstance(body, dict):
        raise BadRequest('A push notification config is a JSON object: {"url"}.')
    login = body.get("authentication") or {}
    if not isinstance(login, dict):
        raise wrong("authentication", "an object")
    url = _text(body, "url", LONGEST_URL)
    if not url:
        raise wrong("url", "the address to call")
    scheme, credentials = login.get("scheme") or "", _text(login, "credentials", LONGEST_SECRET)
    if not isinstance(scheme, str) or (scheme and not _SCHEME.fullmatch(scheme)):
        raise wrong("authentication.scheme", "the name of an HTTP authentication scheme")
    if credentials and not scheme:
        raise wrong("authentication.scheme", "given along with credentials")
    name, token = _text(body, "id", LONGEST_NAME), _text(body, "token", LONGEST_SECRET)
    return PushConfig(name, url, token, scheme, credentials)


def _text(members: Json, name: str, most: int) -> str:
    value = members.get(name) or ""
    if not isinstance(value, str) or len(value) > most or (value and not _VISIBLE.fullmatch(value)):
        raise wrong(name, f"at most {most} visible characters of ASCII")
    return value
