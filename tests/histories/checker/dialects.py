"""Readers of other wire formats: the same text and the same end as the log has."""

import hashlib
from collections.abc import Iterable, Iterator

from .lines import Line
from .logs import Log
from .violation import Violation

ANY = "any"
"""The end of a format that does not tell one end from another."""


def hash_of_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def violations(
    texts: Iterable[Line], logs: dict[str, Log], runs: dict[str, Line]
) -> Iterator[Violation]:
    for line in texts:
        subject = f"{line['dialect']} {line['reader']} of {line['run']}"
        log, run = logs.get(line["run"], Log()), runs.get(line["run"])
        if run is None:
            yield Violation("start", line["run"], f"shown to {subject}, and not there")
        elif line["terminal"] not in (ANY, run["status"]):
            yield Violation("dialect", subject, f"got {line['terminal']}, it is {run['status']}")
        if line["text"] != hash_of_text(log.text):
            yield Violation("dialect", subject, "got another text than the log has")
