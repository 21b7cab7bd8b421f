"""What docs/agents.md and docs/seeds/ claim: each cell names where it lives and a test that ran.

That the named tests exist is checked in ``test_host_rules``, that they ran by ``named_tests``.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.repository import CODE, ROOT
from tests.named_tests import NAME, named

GAP = "no: "
"""How a cell begins that says why there is nothing."""


def claims() -> Iterator[tuple[str, str]]:
    """Where and what: every cell of the guide's table, every row of a seed's.

    A seed's table has the columns Point, Where and Test; its deviations are another table.
    """
    guide = (ROOT / "docs" / "agents.md").read_text("utf-8")
    table = guide.split("\n## What every kind can\n")[1].split("\n## ")[0]
    for first, *cells in rows(table):
        if first.strip("` ") != "feature":
            yield from ((f"agents.md: {first}", cell) for cell in cells)
    for page in sorted((ROOT / "docs" / "seeds").glob("*.md")):
        points = page.read_text("utf-8").split("| Point | Where | Test |")[1].split("\n\n")[0]
        yield from ((f"{page.name}: {first}", " ".join(cells)) for first, *cells in rows(points))


def rows(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        if line.startswith("|") and "---" not in line:
            yield [cell.strip(" |") for cell in line.strip("|").split(" | ")]


CLAIMS = list(claims())


@pytest.mark.parametrize(("where", "cell"), CLAIMS, ids=[where for where, _ in CLAIMS])
def test_each_cell_names_its_code_and_its_test(where: str, cell: str) -> None:
    cell = cell.strip(" |")
    if cell.startswith(GAP):
        assert len(cell) > len(GAP) + 10, where
        return
    files = CODE.findall(cell)
    assert files, f"{where}: {cell}"
    assert all((ROOT / file).is_file() for file in files), f"{where}: {cell}"
    assert NAME.findall(cell), f"{where}: {cell}"


def test_the_tables_are_read() -> None:
    assert len(CLAIMS) >= 14
    proofs = {name for _, cell in CLAIMS for name in NAME.findall(cell)}
    assert proofs <= named().keys()
    assert all(Path(ROOT / name.split("::")[0]).is_file() for name in proofs)
