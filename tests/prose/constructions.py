"""The constructions that are counted, with a better way to write each."""

import re
from typing import NamedTuple

from tests.prose.texts import CODE, DOCS


class Construction(NamedTuple):
    """An expression, better words, and the highest rates per 10,000 words of code and of docs.

    A ceiling only goes down, to ``aim``: lower it when a room has been rewritten.
    """

    pattern: str
    instead: str
    code: float
    docs: float
    aim: float = 3.0


CONSTRUCTIONS = {
    "what is": Construction(
        r"\bwhat (is|was|are|were|has|had|can|may|they|it|he|a|an|the|to|others?|came|comes|"
        r"follows|somebody|nobody|no)\b(?![^.?!]*\?)",
        "name the noun: the backlog, the answer, the missing files",
        code=5,
        docs=3,
    ),
    "one that": Construction(
        r"\b(one|those) (that|which|who|whose)\b", "repeat the noun", code=3, docs=3
    ),
    "it says": Construction(
        r"\b(says|tells|hears|knows|rests|rings)\b",
        "a person or a process acts: the log contains, the page describes",
        code=3,
        docs=3,
    ),
    "of its own": Construction(
        r"\bof (its|their|one's|his|your|our) own\b",
        "its own, a separate, a dedicated",
        code=3,
        docs=3,
    ),
    "nobody": Construction(
        r"\b(nobody|somebody)\b", "name the person; no reader, a member", code=3, docs=3
    ),
    "behind": Construction(
        r"\b(behind|beside) (it|them|the|a|each|that|this)\b(?! (proxy|pooler|proxies|load|url))",
        "after, next to, with, in addition to",
        code=3,
        docs=3,
    ),
    "final too": Construction(
        r"(, too|\bany more|\bmeanwhile)[.;,:)]", "also, no longer, until then", code=3, docs=3
    ),
    "stands": Construction(
        r"\b(stands?|goes on|go on|comes? along|goes along)\b(?! ?by\b)",
        "is, is written, continues, is included",
        code=3,
        docs=3,
    ),
    "may": Construction(r"\b(?-i:may)\b", "can, is allowed to, might", code=20, docs=20, aim=20),
}
"""By a short name."""


def uses_of(text: str, pattern: str) -> list[str]:
    """Each use of a construction, with some words around it."""
    flat = " ".join(text.split())
    uses = re.finditer(pattern, flat, re.IGNORECASE)
    return [flat[max(0, use.start() - 60) : use.end() + 60] for use in uses]


def rate(text: str, pattern: str) -> float:
    """Uses per 10,000 words."""
    return 10_000 * len(uses_of(text, pattern)) / max(1, len(text.split()))


def ceiling(construction: Construction, kind: str) -> float:
    """The highest rate allowed in prose of a kind."""
    return {CODE: construction.code, DOCS: construction.docs}[kind]
