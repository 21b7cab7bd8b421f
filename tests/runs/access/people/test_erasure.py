"""A person's data: all of it is exported, and after the erasure nothing names them."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from agui_host.teams import audit
from agui_host.teams.access import invitations
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Role
from runs.access import comments
from runs.access.people import columns
from runs.access.people import export as personal_data
from runs.access.people.erasure import OwnsAlone, erase
from runs.lifecycle import lifecycle
from runs.models import Comment, Notice, Run, Thread
from runs.models.thread import Visibility
from tests.asgi import ask_now
from tests.cast import Cast, cast, start
from tests.teams.end_users.signed import Signing, start_as

__all__ = ["cast"]
pytestmark = pytest.mark.django_db(transaction=True)


def private(cast: Cast) -> Run:
    run = start(
        cast.bob, threadId="bobs-diary", messages=[{"role": "user", "content": "dear diary"}]
    )
    Thread.objects.for_team(cast.team).filter(pk=run.thread_id).update(
        visibility=Visibility.PRIVATE
    )
    lifecycle.cancel(run)
    return run


def shared(cast: Cast) -> Run:
    run = start(cast.bob, threadId="ours")
    comments.write(cast.bob.principal, run.pk, "mine to take back", None)
    return run


def export(name: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("export_person", name, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def named(text: str) -> list[str]:
    """The columns of the host's tables that have this text as a label."""
    return [
        f"{model.__name__}.{name}"
        for model in columns.models()
        for name in columns.labels(model)
        if model._base_manager.filter(**{name: text}).exists()
    ]


def test_the_export_has_a_persons_rows_and_no_secret(cast: Cast) -> None:
    diary, ours = private(cast), shared(cast)
    EmailAddress.objects.create(user=cast.bob.user, email="bob@example.com", verified=True)
    rows = export("bob@example.com")
    kinds = {row["kind"] for row in rows}
    assert {"auth.user", "account.emailaddress", "teams.membership", "runs.comment"} <= kinds
    assert {"runs.thread", "runs.run", "teams.auditentry"} <= kinds
    ids = {str(row.get("id") or row.get("journal_id")) for row in rows if row["kind"] == "runs.run"}
    assert ids == {str(diary.pk), str(ours.pk)}
    text = json.dumps(rows)
    assert "mine to take back" in text
    for secret in (cast.bob.user.password, cast.bob.session, "hashed_key", "token_hash"):
        assert secret not in text
    assert cast.alice.user.username not in {row.get("username") for row in rows}


def test_the_export_has_nothing_of_the_end_users_of_ones_keys(cast: Cast) -> None:
    product = Signing(cast.team, created_by=cast.bob.user)
    dora = product.principal("dora", name="Dora Maar")
    run = start_as(dora, cast.echo, messages=[{"id": "1", "role": "user", "content": "my pain"}])
    text = json.dumps(export("bob"))
    assert product.row.prefix in text
    for other in (str(run.pk), "my pain", "Dora", '"dora"', "end_user_secret"):
        assert other not in text


def test_ones_own_export_is_of_teams_that_one_can_enter(cast: Cast) -> None:
    run = shared(cast)
    Membership.objects.create(team=cast.other_team, user=cast.bob.user, role=Role.MEMBER)
    assert str(run.pk) in "".join(personal_data.for_themselves(cast.bob.user))
    cast.team.second_factor = True
    cast.team.save()
    assert str(run.pk) not in "".join(personal_data.for_themselves(cast.bob.user))
    cast.team.second_factor = False
    cast.team.save()
    Membership.objects.for_team(cast.team).filter(user=cast.bob.user).delete()
    text = "".join(personal_data.for_themselves(cast.bob.user))
    assert str(run.pk) not in text
    assert str(cast.other_team.pk) in text
    assert str(run.pk) in json.dumps(export("bob"))


def test_an_export_over_http_is_bounded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    shared(cast)
    monkeypatch.setattr(personal_data, "MOST", 1_000)
    answer = ask_now("GET", "/account/data/export", cast.bob.cookie)
    assert answer.status == 409
    assert b"mine to take back" not in answer.body
    assert "mine to take back" in json.dumps(export("bob"))


def test_the_erasure_finds_names_inside_of_records(cast: Cast) -> None:
    EmailAddress.objects.create(user=cast.bob.user, email="Bob@example.com", verified=True)
    for who, action, details in (
        (cast.bob.principal, "email.added", {"email": "Bob@example.com"}),
        ("operator", "invitation.sent", {"email": "bob@example.com", "role": "member"}),
        (cast.alice.principal, "key.handed_over", {"was": "bob"}),
        (cast.alice.principal, "thread.handed_over", {"to": "bob", "was": "user:bob"}),
        (cast.alice.principal, "factor.removed", {"kind": "all"}),
    ):
        audit.record(who, cast.team, action, "bob" if action == "factor.removed" else "", **details)
    for data in ({"scope": "person", "of": "bob"}, {"started_by": "user:bob"}):
        Notice.objects.create(
            team=cast.team, type="budget.warned", subject=uuid4(), tell=[], data=data
        )
    LogEntry.objects.create(
        user=cast.alice.user, content_type=ContentType.objects.get_for_model(User),
        object_id=str(cast.bob.user.pk), object_repr="bob", action_flag=CHANGE,
    )  # fmt: skip
    pseudonym = erase(cast.bob.user, "operator")
    lines = AuditEntry.objects.for_team(cast.team)
    text = json.dumps(list(lines.values_list("who", "target", "details")))
    assert "bob" not in text.lower()
    assert lines.filter(details__contains=pseudonym).count() == 4
    assert not Notice.objects.for_team(cast.team).exists()
    assert LogEntry.objects.get().object_repr == pseudonym


def test_after_the_erasure_nothing_names_the_person(cast: Cast) -> None:
    diary, ours = private(cast), shared(cast)
    audit.record("host", cast.team, "member.changed", "bob", role="member")
    pk, label = cast.bob.user.pk, "user:bob"
    assert {"Run.started_by", "Thread.created_by"} <= set(named(label))
    invitations.send(cast.other_team, "b@example.com", Role.MEMBER, by="host")
    with pytest.raises(CommandError, match="--yes"):
        call_command("erase_person", "bob")
    call_command("erase_person", "bob", "--yes", stdout=StringIO())
    assert not User.objects.filter(pk=pk).exists()
    assert not Membership.objects.of_any_team().filter(user=pk).exists()
    assert not ApiKey.objects.of_any_team().filter(created_by=pk).exists()
    assert not Thread.objects.for_team(cast.team).filter(pk=diary.thread_id).exists()
    assert not Comment.objects.for_team(cast.team).exists()
    assert named(label) == []
    assert Run.objects.for_team(cast.team).get(pk=ours.pk).started_by == f"user:erased-{pk}"
    lines = AuditEntry.objects.for_team(cast.team)
    assert not lines.filter(who=label).exists()
    assert not lines.filter(target="bob").exists()
    assert lines.filter(action="person.erased", target=f"user:erased-{pk}").exists()
    assert lines.filter(actor=f"user:{pk}", action="run.started").exists()
    assert ask_now("GET", "/api/v1/runs", cast.bob.cookie).status == 401
    with pytest.raises(CommandError, match="no account"):
        export("bob")


def test_an_address_that_is_anothers_login_names_nobody(cast: Cast) -> None:
    bob = User.objects.get(username="bob")
    EmailAddress.objects.create(user=bob, email="bob@example.com", verified=True)
    assert export("bob@example.com") == export("bob") != []
    User.objects.create_user("bob@example.com", "mallory@example.com")
    with pytest.raises(CommandError, match="the address of bob: name that login"):
        call_command("erase_person", "bob@example.com", "--yes")


def test_the_only_owner_must_hand_over_first(cast: Cast) -> None:
    with pytest.raises(OwnsAlone):
        erase(cast.alice.user, "operator")
    assert Membership.objects.for_team(cast.team).filter(user=cast.alice.user).exists()


@pytest.mark.parametrize("settings", ["", "yes"])
def test_the_log_still_cannot_be_changed(cast: Cast, settings: str) -> None:
    audit.record("host", cast.team, "member.changed", "bob")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select set_config('agui.forgetting', %s, true)", [settings])
        with pytest.raises(DatabaseError):
            cursor.execute("update teams_auditentry set action = 'x'")
        transaction.set_rollback(True)
