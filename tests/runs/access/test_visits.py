"""Who looked at a run by a link: its team's managers see that, nobody else does."""

import pytest

from runs.access import sharing
from runs.access.inspect import visits
from runs.access.sharing import Terms, To
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db


def test_visits_are_those_of_this_run(cast: Cast) -> None:
    run, other = start(cast.alice, threadId="one"), start(cast.alice, threadId="two")
    assert visits.of(cast.alice.principal, run) == []
    _, token = sharing.share(cast.alice.principal, run, To(), Terms())
    sharing.share(cast.alice.principal, other, To(), Terms())
    sharing.open_link(token, None)
    (line,) = visits.of(cast.alice.principal, run) or []
    assert line.action == "link.opened"
    assert visits.of(cast.alice.principal, other) == []


def test_only_those_who_may_read_the_log_of_its_team_see_them(cast: Cast) -> None:
    run = start(cast.alice, threadId="one")
    assert visits.of(cast.bob.principal, run) is None
    assert visits.of(cast.charlie.principal, run) is None
