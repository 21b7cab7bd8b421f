"""At least one row of a team in every table that teams own."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent, Document, DocumentChunk, Profile, Wisdom
from agui_host.teams.models import (
    GroupRule,
    Invitation,
    Membership,
    ScimGroup,
    ScimGroupMember,
    ScimUser,
    StreamTicket,
    Team,
    TeamDomain,
    TeamLimits,
)
from events.models import (
    Checkpoint,
    Doomed,
    Event,
    Finding,
    OutlinePage,
    SealedObject,
    SealedPart,
)
from runs.lifecycle import lifecycle
from runs.models import (
    Alert,
    Budget,
    BudgetedRun,
    Comment,
    DataSet,
    DataSetRun,
    Effect,
    EndedRun,
    Failure,
    Feedback,
    File,
    FileReference,
    Grain,
    Grant,
    ImportedRun,
    Ingest,
    Interrupt,
    Issue,
    IssueNote,
    IssueRun,
    MailChoice,
    MailedLink,
    Mention,
    ModelPrice,
    Notice,
    Piece,
    PushSubscription,
    Recovery,
    Run,
    RunLabel,
    RunMessage,
    RunWords,
    SavedView,
    Schedule,
    Snooze,
    Spent,
    TeamUsage,
    ThreadHistory,
    Thumb,
    ToolCall,
    ToolChange,
    ToolDay,
    Trial,
    TrialRun,
    UnreadRun,
    Usage,
    UsageChange,
    UsageError,
    UsageTook,
    UsageTookHour,
    UsageVersion,
    Webhook,
    WebhookDelivery,
)


def fill(team: Team, user: User) -> Run:
    """Rows of a team that has the cast's agent, members and keys; its run."""
    agent = Agent.objects.get(team=team, slug="echo")
    run = lifecycle.start(
        team, agent, run_agent_input.parse({"threadId": "t", "runId": "r"}), started_by="key:x"
    ).run
    Event.objects.create(journal_id=run.pk, seq=1, type="RUN_STARTED", payload="{}")
    Finding.objects.create(journal_id=run.pk, seq=1, rule="order", action="mended")
    Checkpoint.objects.create(journal_id=run.pk, seq=1, fold="{}")
    OutlinePage.objects.create(journal_id=run.pk, page=0, changed=0, rows=b"")
    Doomed.objects.create(journal_id=run.pk, last=1)
    target = SealedObject.objects.create(pk=run.pk, place=team.pk)
    SealedPart.objects.create(
        journal_id=run.pk, first=1, last=1, object=target, place=team.pk, offset=0, length=1
    )
    ThreadHistory.objects.create(thread=run.thread, fold="{}", through=run.pk)
    Piece.objects.create(team=team, thread=run.thread, digest=bytes(32), body="x")
    TeamUsage.objects.get_or_create(team=team)
    ModelPrice.objects.create(team=team, model="m", input=1, output=1)
    Failure.objects.create(team=team, run=run, details="{}")
    Effect.objects.create(team=team, run=run, key="k", digest="0" * 64, generation=1)
    Recovery.objects.create(team=team, run=run, number=2, seq=1, reason="shutdown")
    ImportedRun.objects.create(team=team, run=run, opening="{}", imported_by="x")
    RunWords.objects.create(team=team, run=run, due=1)
    UnreadRun.objects.create(run_id=run.pk, team=team)
    at = timezone.now()
    ToolCall.objects.create(team=team, run=run, agent=agent, root=run.pk, seq=1, status="ok", at=at)
    day = {"team": team, "day": at.date()}
    ToolChange.objects.create(**day)
    ToolDay.objects.create(**day, agent=agent, calls=1, failed=0, doubles=0, buckets=[], counts=[])
    issue = Issue.objects.create(team=team, agent=agent, fingerprint="f", error_code="x")
    IssueRun.objects.create(team=team, run=run, issue=issue, at=at)
    IssueNote.objects.create(team=team, issue=issue, text="hm", author="x")
    EndedRun.objects.create(run_id=run.pk, team=team, bytes=1)
    now = timezone.now()
    Usage.objects.create(team=team, grain=Grain.AGENT, at=now, agent=agent)
    UsageTook.objects.create(team=team, at=now, agent=agent, bucket=0)
    UsageTookHour.objects.create(team=team, at=now, agent=agent, bucket=0)
    UsageError.objects.create(team=team, at=now, agent=agent)
    UsageVersion.objects.create(team=team, agent=agent, version="a" * 12, bucket=0)
    UsageChange.objects.create(team=team, agent=agent, sign=1, person="x", created_at=now)
    Ingest.objects.create(
        run=run, generation=1, memory="", seen_at=now, ends_at=now, paced_until=now
    )
    question = Interrupt.objects.create(
        team=team, thread=run.thread, run=run, interrupt_id="i", reason="r", question="{}"
    )
    Grant.objects.create(team=team, run=run, token_hash=f"hash-{team.pk}", created_by="x")
    RunMessage.objects.create(
        team=team, run=run, seq=1, message_id="m", content="hm", author="x", writer="x"
    )
    comment = Comment.objects.create(team=team, run=run, text="hm", author="x")
    Mention.objects.create(team=team, comment=comment, user=user)
    Feedback.objects.create(team=team, run=run, author="x", writer="x", thumb=Thumb.UP)
    document = Document.objects.create(team=team, title="d", text="d", size=1, uploaded_by="x")
    DocumentChunk.objects.create(team=team, document=document, position=0, text="d")
    Wisdom.objects.create(team=team, text="w", written_by="x")
    Profile.objects.create(team=team, membership=Membership.objects.get(team=team, user=user))
    TeamLimits.objects.create(team=team)
    Invitation.objects.create(
        team=team, email="x@example.org", token_hash=f"hash-{team.pk}", invited_by="x",
        expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    person = ScimUser.objects.create(team=team, user=user, user_name="x@example.org")
    group = ScimGroup.objects.create(team=team, display_name="g")
    ScimGroupMember.objects.create(team=team, group=group, person=person)
    TeamDomain.objects.create(team=team, domain="example.org")
    GroupRule.objects.create(team=team, group="g", created_by="x")
    StreamTicket.objects.create(team=team, run=run.pk, user=user)
    file = File.objects.create(
        team=team, name="f", media_type="text/plain", size=1, sha256="0" * 64, created_by="x",
        creator="x", stored_at=now,
    )  # fmt: skip
    FileReference.objects.create(team=team, thread=run.thread, file=file)
    webhook = Webhook.objects.create(
        team=team, url="https://example.com/", events=["run.failed"], created_by="x", creator="x"
    )
    WebhookDelivery.objects.create(team=team, webhook=webhook, type="webhook.test")
    SavedView.objects.create(team=team, name="v", query="", created_by="x", creator="x")
    Snooze.objects.create(team=team, interrupt=question, sleeper="x", until=now)
    MailChoice.objects.create(team=team, user=user)
    MailedLink.objects.create(
        team=team, user=user, interrupt=question, token_hash=f"hash-{team.pk}", expires_at=now
    )
    RunLabel.objects.create(team=team, run=run, name="good", author="x")
    data_set = DataSet.objects.create(team=team, name="d", created_by="x", creator="x")
    DataSetRun.objects.create(team=team, data_set=data_set, run=run)
    trial = Trial.objects.create(team=team, data_set=data_set, agent="echo", created_by="x")
    TrialRun.objects.create(team=team, trial=trial, run=run)
    Alert.objects.create(
        team=team, name="a", measure="cost", threshold=1, window_hours=1, tell=[], created_by="x"
    )
    Notice.objects.create(team=team, type="budget.warned", subject=run.pk, data={}, tell=["mail"])
    PushSubscription.objects.create(team=team, user=user, session_key="x", digest="x")
    Budget.objects.create(
        team=team, scope="team", of="t", key="k", unit="tokens", max=1, created_by="x"
    )
    BudgetedRun.objects.create(team=team, run_id=run.pk, keys=["k"])
    Spent.objects.create(team=team, run_id=run.pk, keys=["k"], tokens=1, cost=0)
    Schedule.objects.create(
        team=team, agent="echo", cron="0 0 * * *", next_at=now, runs_as="x", owner="x"
    )
    return run
