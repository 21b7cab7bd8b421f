"""The local verifier: checks whether a quote is in the run's documents or context."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

from rapidfuzz import fuzz

from agui_host.backends.threads import in_thread
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.citing.extract import Citation, plain
from agui_host.runtimes.middleware.citing.sources import sources_of
from agui_host.runtimes.middleware.citing.verifiers import LONGEST_MATCH, LocalOptions, Verifier

WINDOW = 20_000
"""How many characters one call compares, which occupies the interpreter: 20 ms at worst."""


MOST_COMPARED = 40_000_000
"""With how many characters one run's quotes are compared; quotes beyond that stay pending."""


class Match(NamedTuple):
    """Where a source resembles a quote: ``score`` 0 to 100, which source, and the words there."""

    score: float
    source: int
    match: str


class LocalVerifier(Verifier):
    """Verified: the words are in the named source, or in any if none is named.

    Partial: they are in another one, or only nearly so. Without any source: pending.
    """

    def __init__(self, options: LocalOptions, ctx: RunContext) -> None:
        self._options = options
        self._ctx = ctx
        self._names: list[str] = []
        self._texts: list[str] = []
        self._left = MOST_COMPARED
        self._read: asyncio.Task[None] | None = None

    async def verify(self, citation: Citation) -> dict[str, Any]:
        """Verify in a thread, so that a long document does not block the event loop."""
        if self._read is None:
            self._read = asyncio.create_task(in_thread(self._prepare))
        # Shielded: the cancellation of one citation must not take the documents from the others.
        await asyncio.shield(self._read)
        return await in_thread(self._judge, citation)

    async def aclose(self) -> None:
        """Wait for the documents, which a thread can still be reading."""
        if self._read is not None:
            await asyncio.gather(self._read, return_exceptions=True)

    def _prepare(self) -> None:
        for source in sources_of(self._ctx):
            self._names.append(plain(source.name))
            self._texts.append(plain(source.text))

    def _judge(self, citation: Citation) -> dict[str, Any]:
        if not self._texts:
            return {"status": "pending"}
        quote, named = plain(citation.quote), self._named(citation.source)
        # The named source comes first, so that it wins among equally good ones.
        order = sorted(range(len(self._texts)), key=lambda number: number not in named)
        best = Match(0.0, -1, "")
        for number in order:
            match = self._best(quote, number)
            if match.score > best.score:
                best = match
            if best.score == 100:
                break
        if best.score < self._options.partial_at:
            if self._left <= 0:
                return {"status": "pending", "error": "There was too much text to compare."}
            return {"status": "missed", "score": round(best.score / 100, 3)}
        right = best.source in named or citation.source is None
        verified = right and best.score >= self._options.verified_at
        return {
            "status": "verified" if verified else "partial",
            "score": round(best.score / 100, 3),
            "source": best.source + 1,
            "match": best.match[:LONGEST_MATCH],
        }

    def _named(self, source: str | None) -> set[int]:
        """The sources that a citation can mean."""
        text = plain(source or "")
        numbers = {number for number, name in enumerate(self._names) if text and name == text}
        if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= len(self._texts):
            numbers.add(int(text[:6]) - 1)
        return numbers

    def _best(self, quote: str, number: int) -> Match:
        text = self._texts[number]
        if quote in text:
            return Match(100.0, number, quote)
        best = Match(0.0, number, "")
        for part in _windows(text, len(quote)):
            self._left -= len(part)
            if self._left <= 0:
                break
            cutoff = max(best.score, self._options.partial_at / 2)
            # The quote must be searched for in the text, never the other way round.
            if len(part) < len(quote):
                score, match = fuzz.ratio(quote, part, score_cutoff=cutoff), part
            else:
                near = fuzz.partial_ratio_alignment(quote, part, score_cutoff=cutoff)
                if near is None:
                    continue
                score, match = near.score, part[near.dest_start : near.dest_end]
            if score > best.score:
                best = Match(min(score, 99.9), number, match)
        return best


def _windows(text: str, width: int) -> Iterator[str]:
    # The text in parts that overlap by twice the width of the quote.
    step = max(WINDOW - 2 * width, width)
    for start in range(0, max(len(text) - 2 * width, 1), step):
        yield text[start : start + WINDOW]
