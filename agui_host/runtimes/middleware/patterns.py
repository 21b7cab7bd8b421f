"""Finds secrets in text that arrives in pieces: which part can be sent on, and which must wait."""

import re
import warnings
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]  # the only way to ask a pattern its width
from typing import NamedTuple

import re2

SLICE = 16 * 1024
"""Characters searched in one call."""

MOST_HELD = 64 * 1024
"""If a match is still growing at this size, the rest of its text is left out."""

CONTEXT = 64
"""How many characters before the text a boundary (````) can see."""

LOOKS = 16
"""Small pieces are searched together: each character about this often, and once more."""

LONGEST_PATTERN = 1000
MOST_STATES = 6000
"""The largest compiled pattern: this times the text is the most that a search can take."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_WORD = (
    r"0-9A-Z_a-z\x{AA}\x{B5}\x{BA}\x{C0}-\x{1FFF}\x{2C00}-\x{2FFF}\x{3005}-\x{D7FF}"
    r"\x{F900}-\x{10FFFF}"
)
_CLASSES = {"w": _WORD, "d": r"\p{Nd}", "s": r"\s\x0b\x{1c}-\x{1f}\x{85}\p{Z}"}
"""For RE2 these mean ASCII only, and a redaction must not match less than its author expects."""


class Span(NamedTuple):
    """The position of a match, in characters."""

    start: int
    end: int


class Pattern:
    """A regular expression that takes linear time, whatever the pattern and the text.

    Python's syntax as far as RE2 has it: no lookaround, no back references. Raises ValueError.
    """

    def __init__(self, pattern: str, least: int) -> None:
        """``least`` is the length of the shortest text that it matches."""
        self.least = least
        self.source = _translated(pattern)
        try:
            self._engine = re2.compile(self.source, _options())
        except re2.error as error:
            reason = error.args[0]
            text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise ValueError(
                f"{pattern!r} cannot be searched for in linear time (lookaround and back "
                f"references cannot): {text}"
            ) from None
        if max(self._engine.programsize, self._engine.reverseprogramsize) > MOST_STATES:
            raise ValueError(
                f"{pattern!r} is too large: use fewer repetitions or character classes"
            )

    def spans(self, text: str, at: int = 0) -> list[Span]:
        """Every match that begins at ``at`` or later and is not empty, in order."""
        matches = self._engine.finditer(text, at)
        return [Span(*match.span()) for match in matches if match.end() > match.start()]


def compiled(pattern: str, hold: int) -> Pattern:
    """The pattern; ValueError if it is invalid, or could stop the worker or miss a secret."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"a pattern can have at most {LONGEST_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about sets in sets, which we escape
            tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    least, most = tree.getwidth()
    if least == 0:
        raise ValueError(f"{pattern!r} matches the empty text, so it would match everywhere")
    width = most if most < _parser.MAXREPEAT else least
    if width > hold:
        raise ValueError(
            f"{pattern!r} needs {width} characters to match: set hold to at least that"
        )
    return Pattern(pattern, least)


class Patterns:
    """Several patterns, and one engine that finds out at once whether any of them matches."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._all = list(patterns)
        self._least = min((pattern.least for pattern in self._all), default=0)
        sources = "|".join(f"(?:{pattern.source})" for pattern in self._all)
        try:
            engine = re2.compile(sources, _options())
        except re2.error:  # If they are too large together, each is searched by itself.
            engine = None
        self._any = engine if engine is None or engine.programsize <= MOST_STATES else None

    def apart(self, text: str, at: int = 0) -> list[Span]:
        """The matches of all patterns from ``at`` on, in order; overlapping ones become one."""
        if not self._all or len(text) - at < self._least:
            return []
        if not text.isascii():
            text = _SURROGATES.sub("\ufffd", text)  # halves of a character, at the edges of deltas
        if self._any is not None and self._any.search(text, at) is None:
            return []
        merged: list[Span] = []
        for span in sorted(span for pattern in self._all for span in pattern.spans(text, at)):
            if merged and span.start < merged[-1].end:
                merged[-1] = Span(merged[-1].start, max(span.end, merged[-1].end))
            else:
                merged.append(span)
        return merged


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1024 * 1024
    return options


def _translated(pattern: str) -> str:
    """The pattern with the parts rewritten that RE2 reads differently from Python."""
    parts: list[str] = []
    in_class, at = False, 0
    while at < len(pattern):
        two = pattern[at : at + 2]
        if two[0] == "\\" and len(two) == 2:
            code = _HEX.match(pattern, at)
            parts.append(rf"\x{{{code[1]}}}" if code else _escape(two[1], in_class))
            at = code.end() if code else at + 2
            continue
        if two == "{," and not in_class:
            parts.append("{0,")
            at += 2
            continue
        if two[0] == "[" and not in_class:
            in_class = True
            opening = _OPENING.match(pattern, at)
            parts.append(opening[0] if opening else two[0])
            at = opening.end() if opening else at + 1
            continue
        if two[0] == "[":
            parts.append(r"\[")  # In a class, RE2 takes "[:" for the beginning of a name.
        else:
            in_class = in_class and two[0] != "]"
            parts.append(two[0])
        at += 1
    return "".join(parts)


_HEX = re.compile(r"\\(?:u|U000)([0-9a-fA-F]{4,5})")
_OPENING = re.compile(r"\[\^?\]?")


def _escape(letter: str, in_class: bool) -> str:
    if letter == "Z" and not in_class:
        return r"\z"
    if letter in _CLASSES:
        return _CLASSES[letter] if in_class else f"[{_CLASSES[letter]}]"
    if letter.lower() in _CLASSES and not in_class:
        return f"[^{_CLASSES[letter.lower()]}]"
    return f"\\{letter}"


def replaced(text: str, spans: list[Span], replacement: str) -> str:
    """The text with ``replacement`` in place of each span."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], replacement]
        at = end
    return "".join([*parts, text[at:]])


class Veil:
    """One text, fed in pieces: returns the visible part, with each match replaced.

    The last ``hold`` characters stay back, and a match that reaches into them from its start, so
    that a secret cut in two is seen whole. Only an unfinished match longer than ``hold`` passes.
    """

    def __init__(self, patterns: Patterns, replacement: str, hold: int) -> None:
        self._patterns, self._replacement, self._hold = patterns, replacement, hold
        self._before = self._held = ""
        self._due = hold + 1
        self._muted = False

    def feed(self, text: str) -> str:
        """Take more text; the part of it that no later text can make a secret."""
        starts = range(0, len(text), SLICE)
        return "".join([self._step(text[at : at + SLICE]) for at in starts])

    def end(self) -> str:
        """The rest of the text, which nothing follows."""
        visible = replaced(self._held, self._spans(), self._replacement)
        self._before = self._held = ""
        return visible

    def _step(self, piece: str) -> str:
        if self._muted:
            return ""
        self._held += piece
        if len(self._held) < self._due:
            return ""
        visible = self._look()
        # The next search can wait for this much more text: small pieces come in thousands.
        self._due = len(self._held) + max(1, max(self._hold, len(self._held)) // LOOKS)
        return visible

    def _look(self) -> str:
        cut = len(self._held) - self._hold
        spans = self._spans()
        for start, end in spans:
            if end > cut:
                cut = min(cut, start)
        visible = replaced(self._held[:cut], [s for s in spans if s.end <= cut], self._replacement)
        if len(self._held) - cut > MOST_HELD:
            self._muted, self._held = True, ""
            return visible + self._replacement
        self._before = (self._before + self._held[:cut])[-CONTEXT:]
        self._held = self._held[cut:]
        return visible

    def _spans(self) -> list[Span]:
        text, skip = self._before + self._held, len(self._before)
        return [Span(s.start - skip, s.end - skip) for s in self._patterns.apart(text, skip)]
