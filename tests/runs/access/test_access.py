"""``access``: each of its verbs, asked directly for every kind of caller."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from agui_host.errors import Forbidden, NotFound
from agui_host.teams.authentication import Bound, Principal
from agui_host.teams.models import Membership, Team
from runs.access import access, sharing
from runs.access.sharing import Terms, To
from runs.models import Grant, Interrupt, Run, Thread, Visibility
from runs.models.grant import Level
from tests.cast import Actor, Cast, Register, start
from tests.runs.asking import asking

pytestmark = pytest.mark.django_db


def private(actor: Actor, name: str = "secret") -> Run:
    """A run in a thread that only its starter sees."""
    run = start(actor, threadId=name)
    Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
    run.thread.refresh_from_db()
    return run


def share(by: Actor, what: Run | Thread, to: To, level: Level = Level.VIEW) -> Grant:
    return sharing.share(by.principal, what, to, Terms(level=level))[0]


def link_to(by: Actor, what: Run | Thread) -> Principal:
    """The visitor of a new link, who is not signed in."""
    _, token = sharing.share(by.principal, what, To(), Terms())
    return sharing.open_link(token, None).principal


def verdict(verb: Callable[[], object]) -> str:
    """``ok``, or the name of the error."""
    try:
        verb()
    except (Forbidden, NotFound) as error:
        return type(error).__name__
    return "ok"


def visible_runs(principal: Principal) -> set[UUID]:
    return set(access.visible(principal).values_list("pk", flat=True))


class TestFind:
    def test_a_private_run_is_its_starters_and_another_teams_is_not_there(self, cast: Cast) -> None:
        run, secret = start(cast.alice, threadId="open"), private(cast.bob)
        table = {cast.alice: ("ok", "NotFound"), cast.bob: ("ok", "ok"),
                 cast.vera: ("ok", "NotFound"), cast.charlie: ("NotFound", "NotFound")}  # fmt: skip
        for actor, expected in table.items():
            principal = actor.principal
            both = tuple(
                verdict(lambda p=principal, key=key: access.find(p, key))  # type: ignore[misc]
                for key in (run.pk, secret.pk)
            )
            assert both == expected, actor.user
            visible = {
                key for key, says in zip((run.pk, secret.pk), expected, strict=True) if says == "ok"
            }
            assert visible_runs(principal) == visible
            threads = set(access.visible_threads(principal).values_list("runs__pk", flat=True))
            assert threads == visible
        assert verdict(lambda: access.find(cast.alice.principal, uuid4())) == "NotFound"

    def test_an_action_beyond_the_role_is_forbidden_where_the_run_is_seen(self, cast: Cast) -> None:
        run = start(cast.bob)
        assert verdict(lambda: access.find(cast.vera.principal, run.pk, "cancel")) == "Forbidden"
        assert verdict(lambda: access.find(cast.charlie.principal, run.pk, "cancel")) == "NotFound"
        assert not access.may(cast.vera.principal, "comment", run)
        assert access.may(cast.bob.principal, "comment", run)

    def test_to_cancel_somebody_elses_run_takes_more_than_to_cancel_ones_own(
        self, cast: Cast
    ) -> None:
        alices, bobs = start(cast.alice, threadId="a"), start(cast.bob, threadId="b")
        assert access.may(cast.bob.principal, "cancel", bobs)
        assert not access.may(cast.bob.principal, "cancel", alices)
        assert access.may(cast.alice.principal, "cancel", bobs)

    def test_a_key_whose_scopes_lack_the_action_is_refused(self, cast: Cast) -> None:
        run = start(cast.alice)
        reader = replace(cast.alice.principal, only=frozenset({"view"}))
        assert access.find(reader, run.pk) == run
        assert not access.may(reader, "cancel", run)
        assert verdict(lambda: access.require(reader, "run")) == "Forbidden"
        blind = replace(cast.alice.principal, only=frozenset[str]())
        assert verdict(lambda: access.visible(blind)) == "Forbidden"


class TestVisible:
    def test_the_list_has_a_private_run_for_its_starter_and_those_with_a_grant(
        self, cast: Cast
    ) -> None:
        secret, shared, common = private(cast.alice), private(cast.alice, "2"), start(cast.bob)
        theirs = start(cast.charlie)
        share(cast.alice, shared, To(member="vera"))
        for actor, runs in (
            (cast.alice, {secret, shared, common}),
            (cast.bob, {common}),
            (cast.vera, {shared, common}),
            (cast.charlie, {theirs}),
        ):
            assert set(access.visible(actor.principal)) == runs

    def test_the_order_is_read_from_an_index_not_from_a_join(self, cast: Cast) -> None:
        query = str(access.visible(cast.alice.principal).values_list("pk").query)
        assert "JOIN" not in query.partition(" WHERE ")[0]


class TestGrants:
    @pytest.mark.parametrize("level", Level.values)
    def test_a_level_allows_itself_and_what_comes_before_it(self, cast: Cast, level: str) -> None:
        run = private(cast.bob)
        share(cast.bob, run.thread, To(member="alice"), Level(level))
        allowed = {
            action
            for action in ("view", "comment", "answer", "run", "cancel")
            if access.may(cast.alice.principal, action, run)
        }
        expected = {
            "view": {"view"},
            "comment": {"view", "comment"},
            "answer": {"view", "comment", "answer"},
            "control": {"view", "comment", "answer", "run", "cancel"},
        }
        assert allowed == expected[level]

    def test_a_grant_on_a_run_shows_neither_its_thread_nor_its_neighbours(self, cast: Cast) -> None:
        run = private(cast.bob)
        other = private(cast.bob, "other")
        share(cast.bob, run, To(member="alice"))
        alice = cast.alice.principal
        assert access.find(alice, run.pk) == run
        assert not access.sees_thread(alice, run)
        assert access.find_thread(alice, "secret") is None
        assert verdict(lambda: access.find(alice, other.pk)) == "NotFound"
        assert access.is_creator(cast.bob.principal, run.thread)
        assert not access.is_creator(alice, run.thread)

    def test_another_team_finds_what_was_shared_but_does_not_list_it(self, cast: Cast) -> None:
        run = start(cast.alice)
        grant = share(cast.alice, run.thread, To(team=cast.other_team.pk))
        charlie = cast.charlie.principal
        assert access.find(charlie, run.pk) == run
        assert access.sees_thread(charlie, run)
        assert visible_runs(charlie) == set()
        assert list(access.grants_to(charlie)) == [grant]
        assert not access.may(charlie, "cancel", run)

    @pytest.mark.parametrize("ending", ["revoked", "expired", "archived"])
    def test_an_ended_grant_gives_nothing(self, cast: Cast, ending: str) -> None:
        run = start(cast.alice)
        share(cast.alice, run.thread, To(team=cast.other_team.pk))
        past = timezone.now() - timedelta(seconds=1)
        if ending == "revoked":
            Grant.objects.update(revoked_at=past, revoked_by="user:alice")
        elif ending == "expired":
            Grant.objects.update(expires_at=past)
        else:
            Team.objects.filter(pk=cast.team.pk).update(archived_at=past)
        assert not access.grants_to(cast.charlie.principal).exists()
        assert verdict(lambda: access.find(cast.charlie.principal, run.pk)) == "NotFound"

    def test_a_person_has_a_grant_as_a_member_and_no_longer(self, cast: Cast) -> None:
        run = private(cast.bob)
        share(cast.bob, run, To(member="alice"))
        assert access.readable(cast.alice.principal, [run.pk])
        Membership.objects.filter(user=cast.alice.user).delete()
        assert not access.grants_to(cast.alice.principal).exists()
        assert not access.readable(cast.alice.principal, [run.pk])

    def test_a_link_shows_what_it_is_for_and_nothing_of_its_team(self, cast: Cast) -> None:
        run, other = start(cast.alice, threadId="a"), start(cast.alice, threadId="b")
        visitor = link_to(cast.alice, run)
        assert set(access.shared_runs(visitor)) == {run}
        assert access.readable(visitor, [run.pk])
        assert verdict(lambda: access.find(visitor, other.pk)) == "NotFound"
        assert not access.may(visitor, "comment", run)
        Grant.objects.update(revoked_at=timezone.now(), revoked_by="user:alice")
        assert not access.readable(visitor, [run.pk])

    def test_a_link_that_comes_to_need_a_sign_in_ends_for_those_without(self, cast: Cast) -> None:
        run = start(cast.alice)
        _, token = sharing.share(cast.alice.principal, run, To(), Terms())
        anonymous = sharing.open_link(token, None).principal
        bob = sharing.open_link(token, cast.bob.user).principal
        Grant.objects.update(sign_in=True)
        assert not access.readable(anonymous, [run.pk])
        assert access.readable(bob, [run.pk])
        cast.bob.user.is_active = False
        cast.bob.user.save()
        assert not access.readable(bob, [run.pk])


class TestNarrowCredentials:
    def test_a_ticket_opens_the_run_that_it_is_bound_to(self, cast: Cast) -> None:
        run, other = start(cast.alice, threadId="a"), start(cast.alice, threadId="b")
        for bound in (Bound(run=run.pk), Bound(thread=run.thread_id)):
            ticket = cast.alice.principal.as_ticket(bound)
            assert access.find(ticket, run.pk) == run
            assert verdict(lambda t=ticket: access.find(t, other.pk)) == "NotFound"  # type: ignore[misc]
            assert visible_runs(ticket) == {run.pk}
            assert not access.visible_threads(ticket).exists()
            assert not access.visible_interrupts(ticket).exists()

    def test_a_key_for_some_agents_sees_threads_in_which_no_other_answered(
        self, cast: Cast, register: Register
    ) -> None:
        other = register("other", lambda ctx: "")
        mine = start(cast.alice, threadId="mine")
        shared = start(cast.alice, threadId="both")
        Run.objects.filter(pk=shared.pk).update(agent=other)
        narrow = replace(cast.alice.principal, agents=frozenset({"echo"}))
        assert visible_runs(narrow) == {mine.pk}
        assert verdict(lambda: access.find(narrow, shared.pk)) == "NotFound"
        assert verdict(lambda: access.require_thread(narrow, "both")) == "Forbidden"
        assert verdict(lambda: access.require_thread(narrow, "mine")) == "ok"


class TestRequireThread:
    def test_whoever_sees_all_of_a_thread_may_continue_it(self, cast: Cast) -> None:
        run = private(cast.bob)
        assert verdict(lambda: access.require_thread(cast.bob.principal, "secret")) == "ok"
        assert verdict(lambda: access.require_thread(cast.alice.principal, "new")) == "ok"
        assert verdict(lambda: access.require_thread(cast.alice.principal, "secret")) == "NotFound"
        share(cast.bob, run.thread, To(member="alice"))
        assert verdict(lambda: access.require_thread(cast.alice.principal, "secret")) == "Forbidden"
        Grant.objects.update(level=Level.CONTROL)
        assert verdict(lambda: access.require_thread(cast.alice.principal, "secret")) == "ok"
        # the name is free in another team
        assert verdict(lambda: access.require_thread(cast.charlie.principal, "secret")) == "ok"


class TestInterrupts:
    def test_a_question_is_seen_with_its_run_and_answered_by_who_may(self, cast: Cast) -> None:
        run = asking(cast.bob, "q")
        Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
        key = Interrupt.objects.get().pk
        assert access.find_interrupt(cast.bob.principal, key, "answer").pk == key
        assert not access.visible_interrupts(cast.alice.principal).exists()
        assert verdict(lambda: access.find_interrupt(cast.alice.principal, key)) == "NotFound"
        share(cast.bob, run.thread, To(member="alice"), Level.COMMENT)
        assert access.find_interrupt(cast.alice.principal, key).pk == key
        answer = verdict(lambda: access.find_interrupt(cast.alice.principal, key, "answer"))
        assert answer == "Forbidden"
        assert verdict(lambda: access.find_interrupt(cast.charlie.principal, key)) == "NotFound"
