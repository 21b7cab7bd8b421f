"""The page of histories names each engine that one can have."""

import re

from tests.acceptance.host import ROOT
from tests.histories.engines import ENGINES
from tests.histories.faults import FAULTS

PAGE = (ROOT / "docs" / "histories.md").read_text()


def test_the_page_lists_them() -> None:
    table = PAGE.split("| `--engine` |")[1].split("\n\n")[0]
    firsts = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert sorted(re.findall(r"`([\w-]+)`", "".join(firsts))) == sorted(ENGINES)


def test_what_they_replace_has_faults() -> None:
    assert {name.split()[0] for name in FAULTS if " killed" in name} >= {"PostgreSQL", "Valkey"}
