"""Secrets in text that arrives in pieces: what may go on, and what must wait for more."""

import re
from re import _parser  # type: ignore[attr-defined]  # the only way to ask a pattern its width
from typing import Any

SLICE = 1024
"""Characters looked at in one go, so that a slow pattern meets short texts only."""

MOST_HELD = 64 * 1024
"""A match that is still growing at this size: the rest of its text is left out."""

CONTEXT = 64
"""Characters that have gone on and that a look-behind may still see."""

_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_LONG = 64


def compiled(pattern: str, hold: int) -> "re.Pattern[str]":
    """The pattern; ValueError if it is none, or one that could stop the worker or miss a secret."""
    try:
        found, tree = re.compile(pattern), _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if found.search(""):
        raise ValueError(f"{pattern!r} matches nothing at all, so it would match everywhere")
    if _explodes(tree, False):
        raise ValueError(
            f"{pattern!r} has a choice, a repeat or a back reference inside a repeat (or refers "
            "back), which can take for ever"
        )
    least, most = tree.getwidth()
    width = most if most < _parser.MAXREPEAT else least
    if width > hold:
        raise ValueError(f"{pattern!r} needs {width} characters to match: hold at least as many")
    return found


def _explodes(tree: Any, repeated: bool) -> bool:
    """Whether backtracking could grow exponentially with the text."""
    for op, argument in tree:
        name = str(op)
        if name in ("GROUPREF", "GROUPREF_EXISTS") or (repeated and name == "BRANCH"):
            return True
        inside = repeated
        if name in _REPEATS:
            low, high, _ = argument
            if repeated and low != high:
                return True
            inside = repeated or high >= _LONG
        if any(_explodes(part, inside) for part in _parts(argument)):
            return True
    return False


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple | list):
        return [part for inner in argument for part in _parts(inner)]
    return []


class Veil:
    """One text, fed in pieces: gives what may be seen, with each match replaced.

    The last ``hold`` characters stay back, and a match that reaches into them from its start, so
    that a secret cut in two is seen whole. Only an unfinished match longer than ``hold`` passes.
    """

    def __init__(self, patterns: list["re.Pattern[str]"], replacement: str, hold: int) -> None:
        self._patterns, self._replacement, self._hold = patterns, replacement, hold
        self._before = self._held = ""
        self._muted = False

    def feed(self, text: str) -> str:
        """What may be seen now."""
        starts = range(0, len(text), SLICE)
        return "".join([self._step(text[at : at + SLICE]) for at in starts])

    def end(self) -> str:
        """The rest."""
        shown = self._shown(self._spans(), len(self._held))
        self._before = self._held = ""
        return shown

    def _step(self, piece: str) -> str:
        if self._muted:
            return ""
        self._held += piece
        cut = len(self._held) - self._hold
        spans = self._spans() if cut > 0 else []
        for start, end in spans:
            if end > cut:
                cut = min(cut, start)
        if len(self._held) - cut > MOST_HELD:
            shown = self._shown([span for span in spans if span[1] <= cut], cut)
            self._muted, self._held = True, ""
            return shown + self._replacement
        if cut <= 0:
            return ""
        shown = self._shown([span for span in spans if span[1] <= cut], cut)
        self._before = (self._before + self._held[:cut])[-CONTEXT:]
        self._held = self._held[cut:]
        return shown

    def _spans(self) -> list[tuple[int, int]]:
        """Where something matches in what is held, in order and apart."""
        text, skip = self._before + self._held, len(self._before)
        found = [
            (match.start() - skip, match.end() - skip)
            for pattern in self._patterns
            for match in pattern.finditer(text, skip)
            if match.end() > match.start()
        ]
        apart: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if apart and start < apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            else:
                apart.append((start, end))
        return apart

    def _shown(self, spans: list[tuple[int, int]], cut: int) -> str:
        parts, at = [], 0
        for start, end in spans:
            parts += [self._held[at:start], self._replacement]
            at = end
        return "".join([*parts, self._held[at:cut]])
