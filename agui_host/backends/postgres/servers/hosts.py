"""The hosts of an address, each by itself, so that each can be asked before it is used."""

from typing import Any

from psycopg.conninfo import conninfo_to_dict

from agui_host.backends.postgres.address import LIBPQ

LISTS = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"}
Place = dict[str, str]

_latest: dict[tuple[str, ...], Place] = {}


def places(parameters: dict[str, Any]) -> list[Place]:
    """Parameters that name one host each; the host of the latest connection comes first."""
    lists = _lists(parameters)
    count = max(len(lists["host"]), len(lists["hostaddr"]))
    if count < 2:
        return [{}]
    each = [
        {
            name: values[number if len(values) == count else 0]
            for name, values in lists.items()
            if values
        }
        for number in range(count)
    ]
    latest = _latest.get(_key(lists))
    return sorted(each, key=lambda place: place != latest)


def connected(parameters: dict[str, Any], place: Place) -> None:
    """Begin with this host next time: a silent one costs each connection seconds."""
    if place:
        _latest[_key(_lists(parameters))] = place


def merged(conninfo: str, values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a connection, of which psycopg takes some by name and some in a text."""
    texts = conninfo_to_dict(conninfo) if conninfo else {}
    return {**texts, **{name: value for name, value in values.items() if value is not None}}


def _lists(parameters: dict[str, Any]) -> dict[str, list[str]]:
    texts = {name: str(parameters.get(name) or LIBPQ.get(LISTS[name], "")) for name in LISTS}
    return {name: text.split(",") if text else [] for name, text in texts.items()}


def _key(lists: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(",".join(values) for values in lists.values())
