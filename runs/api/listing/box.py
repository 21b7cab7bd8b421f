"""The query box of the runs list: tokens for the filters of its address, and text.

``agent:billing status:failed since:yesterday "insufficient funds"`` means the same as
``?agent=billing&status=failed&since=yesterday&q="insufficient funds"``.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.http import QueryDict
from django.utils import timezone

from agui_host.backends.postgres import clock
from agui_host.teams import actors

LONGEST = 500
MOST_TERMS = 10
TOKENS = {
    "agent": "agent",
    "version": "agent_version",
    "status": "status",
    "error": "error",
    "thread": "thread_id",
    "run": "run_id",
    "by": "started_by",
    "tag": "tag",
    "took": "took",
    "findings": "findings",
    "tool": "tool",
    "model": "model",
    "thumb": "thumb",
    "since": "since",
    "until": "until",
}
"""By the name before the colon: the parameter of the address."""
ME = "me"
PEOPLE = ("user:", "key:", "end:", "link:", "ticket:")

_TOKEN = re.compile(r'(?:([^\s":]+):)?(?:"([^"]*)"|([^\s"]+))(?=\s|$)|(\S+)')
_AGO = re.compile(r"(\d{1,4}) ?([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(slots=True)
class Query:
    """A text as filters (parameter, value), the words to search for, and its faults."""

    filters: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words, as they are typed into the box."""
        return " ".join(f'"{word}"' if _needs_quotes(word) else word for word in self.words)


def parse(text: str) -> Query:
    """Read the box. Nothing that is typed raises: what cannot be read is a problem."""
    query = Query()
    if len(text) > LONGEST:
        query.problems.append(f"The search is longer than {LONGEST} characters.")
        return query
    if "\x00" in text:
        query.problems.append("The search contains a null character.")
        return query
    for match in _TOKEN.finditer(text):
        name, quoted, plain, broken = match.groups()
        value = plain if quoted is None else quoted
        if broken is not None:
            query.problems.append(f"A quotation mark is missing or misplaced in {broken}.")
        elif name is None and value.endswith(":") and value[:-1].lower() in TOKENS:
            query.problems.append(f"{value} needs a value.")
        elif name is None:
            query.words += [value] if value else []
        elif name.lower() not in TOKENS:
            query.problems.append(
                f"There is no filter {name}; there are {', '.join(TOKENS)}. "
                f'To search for the text, write "{name}:{value}".'
            )
        elif not value:
            query.problems.append(f"{name}: needs a value.")
        else:
            query.filters.append((TOKENS[name.lower()], value))
    if len(query.words) > MOST_TERMS:
        query.problems.append(f"The search has more than {MOST_TERMS} words.")
    return query


def label_of(name: str) -> str:
    """The label of a person by their login; that of a key, an end user or the host stays."""
    return name if name.startswith(PEOPLE) or name == actors.HOST.label else f"user:{name}"


def _needs_quotes(word: str) -> bool:
    return ":" in word or any(each.isspace() for each in word)


def expanded(address: QueryDict, me: str) -> tuple[QueryDict, Query]:
    """The address with the tokens of its ``q`` as parameters, and with only the words left in it.

    ``me`` is the label of the visitor, for ``by:me``.
    """
    query = parse(address.get("q", ""))
    full = address.copy()
    single: dict[str, str] = {}
    for name, value in query.filters:
        if name == "started_by":
            value = me if value == ME else label_of(value)
        if name == "status":
            if value not in full.getlist(name):
                full.appendlist(name, value)
        elif single.setdefault(name, value) != value:
            query.problems.append(f"{name} can have one value only.")
        else:
            full[name] = value
    if query.problems:
        return address.copy(), query
    full["q"] = query.text
    return full, query


def moment(text: str) -> datetime | None:
    """``today``, ``yesterday``, ``24h``, ``7d``: when that begins; None for other text.

    Days begin at midnight of the page's time zone.
    """
    now = timezone.localtime(clock.now())
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match text.strip().lower():
        case "now":
            return now
        case "today":
            return today
        case "yesterday":
            return today - timedelta(days=1)
        case ago if length := _AGO.fullmatch(ago):
            return now - timedelta(**{_UNITS[length[2]]: int(length[1])})
    return None
