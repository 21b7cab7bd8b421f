"""Time zones go by their IANA names; everything else is refused with the member that had it."""

import pytest

from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.zones import zone


def test_a_name() -> None:
    assert zone("Europe/Berlin").key == "Europe/Berlin"


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "a\0b"])
def test_other_texts(name: str) -> None:
    with pytest.raises(Invalid) as refusal:
        zone(name)
    assert refusal.value.details == {"path": "time_zone"}
