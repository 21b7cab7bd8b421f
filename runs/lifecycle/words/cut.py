"""Cutting texts into words: the same way where they are stored and where they are searched.

A word is letters and digits of any script. Of scripts that put no spaces between words, such as
Chinese, each character is a word.
"""

import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from unicodedata import category, normalize
from uuid import UUID

LONGEST = 40
"""Characters of a word that count."""
MOST = 2_000
"""Different words of a run."""
# Kana, Chinese characters, Thai, Lao, Myanmar and Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Accents and vowel signs are part of a word, and are no letters for ``\w``.
_MARKS = "".join(
    re.escape(chr(code))
    for code in range(0x300, min(sys.maxunicode, 0xFFFF))
    if category(chr(code)) in ("Mn", "Mc")
)
_WORD = re.compile(
    rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*){{0,{LONGEST}}}"
)


def words(texts: Iterable[str], most: int = MOST) -> list[str]:
    """The first so many different words, in their order; the time is linear in the texts."""
    unlike: dict[str, None] = {}
    known: set[str] = set()
    for text in texts:
        for match in _WORD.finditer(text):
            start, end = match.span()
            raw = text[start : min(end, start + LONGEST)]
            if raw in known:
                continue
            if len(unlike) == most:
                return list(unlike)
            known.add(raw)
            # After the cut, since many accents on one letter take quadratic time.
            unlike.setdefault(normalize("NFKC", raw.casefold())[:LONGEST])
    return list(unlike)


def lexemes(team: UUID, cut: Iterable[str]) -> list[str]:
    """Words as they are stored: with a prefix of their team, so that no other's are read.

    The prefix is of random bits of the team's id; two teams can share it, which costs time only.
    """
    prefix = urlsafe_b64encode(team.bytes[-6:]).decode()
    return [prefix + word for word in cut]
