"""Phrases that we no longer write: riddles, archaisms, and sentences in which nobody does anything.

CONTRIBUTING.md says how text is written. A phrase gets its line here with what to write instead.
"""

import re
from pathlib import Path

import pytest

from tests.house import repository
from tests.house.repository import PACKAGES, ROOT

BANNED = {
    r"for a stranger's|stranger's, like|and gets 404 for a stranger": "belongs to someone else",
    r"\b(to|cannot|could|can) be had\b": "could not acquire; no longer queued",
    r"goes on where it (was|is)\b": "is idempotent: call it again to resume",
    r"cookie, which comes by itself": "precedence: header, then ticket, then cookie",
    r"\bteams of who asks\b|\bof a key its own\b": "the caller's teams",
    r"\bask again that it may\b": "make open streams re-check access",
    r"\bopens no stream, or none\b|\bworth nothing any more\b": "invalid, expired or already used",
    r"\bhalf (a character|a surrogate)\b": "an unpaired surrogate",
    r"\bsomething else stands in the way\b": "conflicts with the current state",
    r"\bmay see this, but not do that\b": "you do not have permission",
    r"\bnot valid, or no longer\b": "invalid or has expired",
    r"\bmay lose( or \w+)? what it likes\b|\b(double|delay) what it likes\b": "lossy",
    r"\bthe (person|user|one) who asks\b|\bwho asks[;,.:)]": "the caller",
    r"\bno such thing here\b": "this does not exist",
    r"\bis none, too old\b": "is invalid or expired",
    r'"""(What (is|was|were)|Who|Whoever)\b': "the noun: the caller, the open parts, the findings",
    r"\b(thereof|whereof|hitherto|henceforth|whilst|lest|anew|thereby|whence)\b": "plain words",
    r"\bwho(m?)ever\b": "the person: its maker, the caller, a reader, anyone with the link",
    r"\bwhatever (team|runid|name)\b": "any",
    r"(?<!there )\bis no (json|object|regular expression|setting|url|option|ag-ui)\b": "is not a",
    r"\bruns? goes? on\b|\bgoes? on (when|behind|from here|with the next)\b": "continue, resume",
    r"\b(as|how) it stands\b": "current; its status",
    r"\bbelongs? into\b": "belong in",
    r"\bparted by\b": "separated by",
    r"\blets? go of\b": "release",
    r"\bwhat becomes of\b": "what happens to",
    r"\bin hand\b": "loaded; current",
    r"\bfor so long\b": "for this long; name the duration",
    r"\bwhat (was|is) said\b": "the messages, the events, the conversation",
    r"\bpass(es|ed)? over\b": "skip",
    r"\bhands? on\b|\bhanded on\b": "pass on",
    r"\bspells? out\b|\bspelled out\b": "list by name",
    r"\ball (that|what) (it|they|he) (has|have|had) going\b": "active runs",
}
"""By expression (case does not matter): what to write instead."""

ONCE = re.compile(r"Valkey \(or Redis\)|Valkey or Redis")
"""At most once per page; "Valkey" from then on."""

KINDS = {".py", ".sql", ".html", ".txt", ".md", ".mjs", ".js", ".yaml"}
PLACES = {*PACKAGES, "templates", "static", "docs", "clients"}
AT_THE_TOP = {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "Makefile"}


def texts(root: Path) -> dict[str, str]:
    """Sources, templates and pages by path; migrations and what others wrote left out."""
    return {
        path.as_posix(): (root / path).read_text("utf-8")
        for path in repository.files(root)
        if (path.parts[0] in PLACES and path.suffix in KINDS) or path.as_posix() in AT_THE_TOP
        if not {"migrations", "vendor", "node_modules"} & set(path.parts)
    }


def faults(text: str) -> list[str]:
    """Each banned phrase of a text, with what to write instead."""
    # A phrase may go on in the next line of a comment or a page.
    flat = re.sub(r"\n[ #*>|]*", " ", text)
    phrases = [
        f"{match[0]!r}: write {instead!r}"
        for phrase, instead in BANNED.items()
        for match in re.finditer(phrase, flat, re.IGNORECASE)
    ]
    return phrases + (
        ["'Valkey or Redis' twice: write 'Valkey'"] if len(ONCE.findall(flat)) > 1 else []
    )


def test_nobody_writes_these_any_more() -> None:
    wrong = {path: faults(text) for path, text in texts(ROOT).items()}
    assert {path: lines for path, lines in wrong.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [
        "None for a stranger's, like for one that nobody has",
        "one that is no longer to be had is left alone",
        "the lock was not to be had",
        "may be called again and goes on where it was",
        "a ticket counts before a cookie, which comes by itself, a header before both",
        "The teams of who asks; of a key its own",
        "Let the streams ask again that it may feed",
        "This ticket opens no stream, or none any more",
        "name has half a character in it",
        "Something else stands in the way",
        "You may see this, but not do that",
        "This link is not valid, or no longer",
        "Bell: may lose what it likes",
        '"""What is known in one run."""',
        "Whoever leaves keeps nothing",
        "by whatever team",
        "the frame is no JSON object",
        "a run goes on without readers",
        "the run as it stands",
        "a secret belongs into a header",
        "messages are parted by an empty line",
        "when the process lets go of it",
        "what becomes of the keys",
        "what was said stays",
        "one that is late is passed over",
        "names that are handed on",
        "# so it may lose what\n    # it likes",
        "Valkey (or Redis) and again Valkey (or Redis)",
    ],
)
def test_a_planted_phrase_is_found(text: str) -> None:
    assert faults(text)


def test_plain_english_passes() -> None:
    assert (
        faults('"""The caller\'s teams. Whatever is stored was committed; no work is left."""')
        == []
    )
    assert len(texts(ROOT)) > 200
