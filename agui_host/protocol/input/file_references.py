"""The uploaded files that a message refers to.

A part (image, audio, video, document) refers to a file of this host by its source, either
``{"type": "file", "value": id, "provider": "agui-host"}`` or
``{"type": "url", "value": "/api/v1/files/{id}/content"}``, the file's own address. A ``file``
without a provider counts if its value is a UUID. Other providers' handles and other hosts'
addresses are passed on to the agent untouched.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

PROVIDER = "agui-host"
ADDRESS = re.compile(r"/api/v1/files/([0-9a-fA-F-]{36})(?:/content)?/?")


def parts(messages: Iterable[Any]) -> list[Any]:
    """The parts of these messages: nothing else refers to files."""
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    return [part for content in contents if isinstance(content, list) for part in content]


def references(messages: Iterable[Any], hosts: Collection[str] = ()) -> list[UUID]:
    """The ids of the files that these messages refer to, each once, in their order.

    ``hosts``: possible beginnings of this host's addresses, such as ``https://agents.example.com``.
    """
    ids = (reference(part, hosts) for part in parts(messages))
    return list(dict.fromkeys(id for id in ids if id is not None))


def reference(part: Any, hosts: Collection[str] = ()) -> UUID | None:
    """The id of the file that a part, or its source, refers to; None if it refers to none."""
    source = part.get("source", part) if isinstance(part, dict) else None
    if not isinstance(source, dict) or not isinstance(value := source.get("value"), str):
        return None
    if source.get("type") == "file" and source.get("provider", PROVIDER) == PROVIDER:
        named = "provider" in source
        return _uuid(value) or (UUID(int=0) if named else None)
    if source.get("type") == "url":
        match = ADDRESS.fullmatch(_path(value, hosts))
        return _uuid(match[1]) if match else None
    return None


def _path(address: str, hosts: Collection[str]) -> str:
    for host in hosts:
        if address.startswith(f"{host}/"):
            return address[len(host) :]
    return address


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
