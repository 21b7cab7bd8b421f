"""Every test that docs/security.md names as its proof exists."""

import re

from tests.house.repository import ROOT

PROOF = re.compile(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`")


def test_every_proof_that_the_security_page_names_exists() -> None:
    for path, name in PROOF.findall((ROOT / "docs" / "security.md").read_text()):
        source = (ROOT / path).read_text()
        assert not name or re.search(rf"^ *(?:async )?def {name}\(", source, re.MULTILINE), name
