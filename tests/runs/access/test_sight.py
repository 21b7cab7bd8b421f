"""The one choice: which readers see a run alone, and which its whole thread."""

import pytest

from runs.access import sharing, sight
from runs.access.sharing import Terms, To
from runs.models import Thread, Visibility
from tests.cast import Cast, fresh, start
from tests.runs.conversing import Told

STATE = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


@pytest.mark.django_db
def test_who_sees_a_run_alone(cast: Cast) -> None:
    first, run = (Told(start(cast.alice, threadId="t")).say(STATE).end() for _ in range(2))
    Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
    first, run = fresh(first), fresh(run)
    owner, other = cast.alice.principal, cast.other_team.pk
    for each in (first, run):
        sharing.share(owner, each, To(member="charlie", team=other), Terms())
        sharing.share(owner, each, To(member="bob"), Terms())
    sharing.share(owner, run.thread, To(member="vera"), Terms())
    link = sharing.share(owner, run, To(), Terms())[1]
    of_thread = sharing.share(owner, run.thread, To(), Terms())[1]

    alone = [cast.charlie.principal, cast.bob.principal, sharing.open_link(link, None).principal]
    for principal in alone:
        assert sight.of(principal, run) == sight.Sight(run.pk, begins=False)
        assert not sight.is_whole(principal, run)
    for principal in (owner, cast.vera.principal, sharing.open_link(of_thread, None).principal):
        assert sight.of(principal, run) is None
        assert sight.view(principal, run) is None
    assert sight.is_whole(owner, run)
    assert not sight.is_whole(cast.vera.principal, run), "that takes a query"

    both = [first.pk, run.pk]
    sights = sight.of_each(cast.bob.principal, both, cast.team.pk)
    assert [sights[key].begins for key in both] == [True, False]
    assert sight.of_each(cast.vera.principal, both, cast.team.pk) == {}


@pytest.mark.django_db
def test_a_link_to_a_run_of_a_thread_that_the_team_sees_shows_it_alone(cast: Cast) -> None:
    """The thread is open to the team, of which a link's visitor is no member."""
    run = [Told(start(cast.alice, threadId="t")).say(STATE).end() for _ in range(2)][1]
    token = sharing.share(cast.alice.principal, run, To(), Terms())[1]
    for user in (None, cast.bob.user):
        visitor = sharing.open_link(token, user).principal
        assert sight.of(visitor, run) == sight.Sight(run.pk, begins=False)


@pytest.mark.django_db
def test_a_view_behind_a_cursor_knows_what_came_before(cast: Cast) -> None:
    run = Told(start(cast.alice, threadId="t", state={"old": "SECRET"})).say(
        {**STATE, "snapshot": {"old": "SECRET"}}
    )
    run.say({**STATE, "snapshot": {"old": "SECRET", "mine": 1}})
    view = sight.Sight(run.run.pk, begins=True).view(after=2)
    later = {"type": "STATE_SNAPSHOT", "snapshot": {"old": "SECRET", "mine": 1}}
    assert view.show(later)["snapshot"] == {"mine": 1}
