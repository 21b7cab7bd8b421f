import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid6
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("runs", "0001_initial"),
        ("runs", "0003_interrupts"),
        ("runs", "0004_thread_history"),
        ("runs", "0005_index_runs_of_thread"),
        ("runs", "0006_limits"),
        ("runs", "0007_retention"),
        ("runs", "0008_order_of_waiting"),
        ("runs", "0009_sharing"),
        ("runs", "0010_run_parent"),
        ("runs", "0011_run_context"),
        ("runs", "0012_actors"),
        ("runs", "0013_ended_runs"),
        ("runs", "0014_repeatable"),
    ]
    initial = True

    dependencies = [
        ("events", "0001_tables"),
        ("runtimes", "0001_tables"),
        ("teams", "0001_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="TeamUsage",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="usage",
                        serialize=False,
                        to="teams.team",
                    ),
                ),
                ("stamp", models.BigIntegerField(db_default=0, default=0)),
                ("stored_bytes", models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Thread",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("thread_id", models.CharField(max_length=255)),
                ("created_by", models.CharField(blank=True, default="", max_length=200)),
                ("creator", models.CharField(blank=True, db_default="", default="", max_length=60)),
                ("legal_hold", models.BooleanField(db_default=False, default=False)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "visibility",
                    models.CharField(
                        choices=[("team", "Team"), ("private", "Private")],
                        default="team",
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("archived_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EndedRun",
            fields=[
                ("run_id", models.UUIDField(primary_key=True, serialize=False)),
                ("bytes", models.BigIntegerField()),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "journal",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="run",
                        serialize=False,
                        to="events.journal",
                    ),
                ),
                ("run_id", models.CharField(max_length=255)),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("tries", models.PositiveSmallIntegerField(db_default=1, default=1)),
                ("parent_run_id", models.CharField(max_length=255, null=True)),
                ("protocol_version", models.CharField(max_length=20, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("interrupted", "Interrupted"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=12,
                    ),
                ),
                ("input", models.TextField()),
                ("context", models.TextField(null=True)),
                ("result", models.TextField(null=True)),
                ("usage", models.TextField(null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=40)),
                ("error_message", models.TextField(blank=True, default="")),
                ("idempotency_key", models.CharField(max_length=255, null=True)),
                ("request_digest", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField(null=True)),
                (
                    "started_by",
                    models.CharField(
                        help_text="Who started it: the label of a person or a key.", max_length=200
                    ),
                ),
                ("starter", models.CharField(blank=True, db_default="", default="", max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("purged_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="runs.run",
                    ),
                ),
                (
                    "repeats",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="repeated_by",
                        to="runs.run",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "ordering": ["-journal"],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.PositiveIntegerField(null=True)),
                ("text", models.TextField()),
                (
                    "author",
                    models.CharField(
                        help_text="Who wrote it: the label of a person or a key.", max_length=200
                    ),
                ),
                ("writer", models.CharField(blank=True, db_default="", default="", max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comments",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ThreadHistory",
            fields=[
                (
                    "thread",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="history",
                        serialize=False,
                        to="runs.thread",
                    ),
                ),
                ("fold", models.TextField()),
                ("through", models.UUIDField()),
            ],
        ),
        migrations.CreateModel(
            name="Interrupt",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("interrupt_id", models.TextField()),
                ("reason", models.TextField()),
                ("message", models.TextField(blank=True, default="")),
                ("tool_call_id", models.TextField(blank=True, default="")),
                ("response_schema", models.TextField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("question", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("answered", "Answered"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("answer", models.TextField(null=True)),
                ("answered_by", models.CharField(blank=True, default="", max_length=200)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "answering_run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="answers",
                        to="runs.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="interrupts",
                        to="runs.run",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="interrupts",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("token_hash", models.CharField(max_length=64, null=True, unique=True)),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("view", "View"),
                            ("comment", "Comment"),
                            ("answer", "Answer"),
                            ("control", "Control"),
                        ],
                        default="view",
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, default="", max_length=120)),
                ("sign_in", models.BooleanField(default=False)),
                (
                    "redact",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(blank=True, db_default="", default="", max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(blank=True, default="", max_length=200)),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "through",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "to_team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "to_user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="runs.run",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
                        to="runs.comment",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("comment", "user"), name="mention_once_per_comment"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("author", models.CharField(max_length=200)),
                ("writer", models.CharField(blank=True, db_default="", default="", max_length=60)),
                ("thumb", models.CharField(choices=[("up", "Up"), ("down", "Down")], max_length=4)),
                ("text", models.TextField(blank=True, default="")),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="feedback",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("writer", ""), _negated=True),
                        fields=("run", "writer"),
                        name="feedback_once_per_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("thumb__in", ["up", "down"])),
                        name="feedback_thumb_known",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="comment",
            constraint=models.CheckConstraint(
                condition=models.Q(("seq", None), ("seq__gte", 1), _connector="OR"),
                name="comment_on_an_event_or_a_run",
            ),
        ),
        migrations.AddConstraint(
            model_name="comment",
            constraint=models.CheckConstraint(
                condition=models.Q(("text", ""), _negated=True), name="comment_says_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="thread",
            constraint=models.UniqueConstraint(
                fields=("team", "thread_id"), name="thread_once_per_team"
            ),
        ),
        migrations.AddConstraint(
            model_name="thread",
            constraint=models.CheckConstraint(
                condition=models.Q(("visibility__in", ["team", "private"])),
                name="thread_visibility_known",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "-journal"], name="run_team_newest"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("parent__isnull", False)),
                fields=["parent"],
                name="run_of_parent",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["team", "status", "-journal"], name="run_team_status_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["thread", "-journal"], name="run_thread_newest"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("purged_at", None)),
                fields=["team", "journal"],
                name="run_not_purged",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status__in", ("queued", "running"))),
                fields=["thread", "status"],
                name="run_active",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("error_code__in", ("worker_lost", "shutdown")), ("status", "failed")
                ),
                fields=["ended_at"],
                name="run_worker_gone",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("job_id__isnull", False), ("status__in", ("queued", "running"))
                ),
                fields=["team"],
                name="run_admitted",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("job_id", None), ("status", "queued")),
                fields=["team", "created_at", "journal"],
                name="run_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("thread", "run_id", "attempt"), name="run_once_per_thread"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                fields=("team", "idempotency_key"), name="run_idempotency_once_per_team"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("repeats__isnull", False)),
                fields=("repeats",),
                name="run_repeated_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "running")),
                fields=("thread",),
                name="run_one_running_per_thread",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["queued", "running", "succeeded", "interrupted", "cancelled", "failed"],
                    )
                ),
                name="run_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("status__in", ("queued", "running"))),
                    models.Q(
                        ("ended_at__isnull", False),
                        ("status__in", ("succeeded", "interrupted", "cancelled", "failed")),
                    ),
                    _connector="OR",
                ),
                name="run_ended_at_exactly_when_ended",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("status", "failed"), ("error_code", ""), _connector="XOR"),
                name="run_error_code_exactly_when_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="interrupt",
            index=models.Index(fields=["thread", "-run"], name="interrupt_thread_newest"),
        ),
        migrations.AddIndex(
            model_name="interrupt",
            index=models.Index(fields=["team", "-id"], name="interrupt_team_newest"),
        ),
        migrations.AddIndex(
            model_name="interrupt",
            index=models.Index(
                fields=["team", "status", "-id"], name="interrupt_team_status_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="interrupt",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["expires_at"],
                name="interrupt_open_expiry",
            ),
        ),
        migrations.AddConstraint(
            model_name="interrupt",
            constraint=models.UniqueConstraint(
                models.F("run"),
                django.db.models.functions.text.MD5("interrupt_id"),
                name="interrupt_once_per_run",
            ),
        ),
        migrations.AddConstraint(
            model_name="interrupt",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["open", "answered", "cancelled", "expired"])),
                name="interrupt_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="interrupt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        models.Q(("answered_by", ""), _negated=True),
                        ("answer__isnull", False),
                        ("answered_at__isnull", False),
                        ("status__in", ("answered", "cancelled")),
                    ),
                    models.Q(
                        ("answer", None),
                        ("answered_at", None),
                        ("answered_by", ""),
                        ("status__in", ("open", "expired")),
                    ),
                    _connector="OR",
                ),
                name="interrupt_answer_exactly_when_answered",
            ),
        ),
        migrations.AddConstraint(
            model_name="interrupt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "open"), _negated=True),
                    ("answering_run", None),
                    _connector="OR",
                ),
                name="interrupt_open_was_told_to_nobody",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("thread", None), ("run", None), _connector="XOR"),
                name="grant_on_a_thread_or_a_run",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("to_team", None), ("to_user__isnull", False), ("token_hash", None)),
                    models.Q(("to_team__isnull", False), ("to_user", None), ("token_hash", None)),
                    models.Q(("to_team", None), ("to_user", None), ("token_hash__isnull", False)),
                    _connector="OR",
                ),
                name="grant_to_a_person_a_team_or_a_link",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("to_user", None),
                    ("through__isnull", False),
                    ("revoked_at__isnull", False),
                    _connector="OR",
                ),
                name="grant_to_a_person_through_a_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("to_team", None),
                    models.Q(("to_team", models.F("team")), _negated=True),
                    _connector="OR",
                ),
                name="grant_to_another_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("level__in", ["view", "comment", "answer", "control"])),
                name="grant_level_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("token_hash", None), ("level__in", ("view", "comment")), _connector="OR"
                ),
                name="grant_link_only_shows",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("token_hash__isnull", False),
                    models.Q(("redact", []), ("sign_in", False)),
                    _connector="OR",
                ),
                name="grant_options_are_for_links",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("revoked_at", None), ("revoked_by", "")),
                    models.Q(
                        ("revoked_at__isnull", False), models.Q(("revoked_by", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="grant_revoked_by_somebody",
            ),
        ),
    ]
