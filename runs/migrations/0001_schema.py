import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import agui_host.backends.postgres.clock
import agui_host.security.secrets
import runs.models.texts.pieced_text
from agui_host.backends.postgres.functions.install import early

# Where the queue stands between teams (runs/lifecycle/admission.py): the stamp of the run that a
# worker took last. A sequence, since every claim moves it and none may wait for another.
SEQUENCES = """
create sequence runs_virtual_time minvalue 0 start 0;
create sequence runs_feed_position;
"""
VIEW = """
create view runs_wordsreached as
select run_id, words from runs_runwords
 where coalesce(
    not (select row_security_active('runs_runwords'))
    or (select agui_reaches_all())
    or team_id = any ((select agui_reached())::uuid[]),
    false);
"""
STATISTICS = "alter table runs_runwords alter column words set statistics 300"
# What web processes count together if ``REDIS_URL`` is empty.
COUNTERS = """
create unlogged table agui_counter (
    key text primary key, value text not null, until timestamptz
) with (fillfactor = 70);
create unlogged table agui_seat (
    owner text, seat text, until timestamptz not null, primary key (owner, seat)
) with (fillfactor = 70);
"""


class Migration(migrations.Migration):
    replaces = [
        # A database has these names as well: earlier migrations replaced them.
        ("runs", "0001_initial"),
        ("runs", "0002_wake_next_job_of_lock"),
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
        ("runs", "0015_events_by_run"),
        ("runs", "0001_tables"),
        ("runs", "0002_sql"),
        ("runs", "0003_runs_by_time_and_error"),
        ("runs", "0004_feed"),
        ("runs", "0005_ingest"),
        ("runs", "0006_failures"),
        ("runs", "0007_starting"),
        ("runs", "0008_webhooks"),
        ("runs", "0009_imported_runs"),
        ("runs", "0010_alike_failures"),
        ("runs", "0011_schedules"),
        ("runs", "0012_queues"),
        ("runs", "0013_files"),
        ("runs", "0014_push_notifications"),
        ("runs", "0015_saved_views"),
        ("runs", "0016_runs_by_agent_and_person"),
        ("runs", "0017_taking"),
        ("runs", "0018_figures"),
        ("runs", "0019_ending"),
        ("runs", "0020_words"),
        ("runs", "0021_starts_at_once"),
        ("runs", "0022_plans_for_large_tables"),
        ("runs", "0023_scope"),
        ("runs", "0024_turns_of_deliveries"),
        ("runs", "0025_ids_by_the_database"),
        ("runs", "0028_one_scope"),
        ("runs", "0029_counters_without_valkey"),
        ("runs", "0030_feed_epochs"),
        ("runs", "0031_sealed_logs"),
        ("runs", "0032_conversations"),
        ("runs", "0033_rewritten_at"),
        ("runs", "0034_newest_run"),
        ("runs", "0035_usage"),
        ("runs", "0036_faces"),
        ("runs", "0037_effects"),
        ("runs", "0038_budgets"),
        ("runs", "0039_run_messages"),
        ("runs", "0040_notices"),
        ("runs", "0041_pieces"),
        ("runs", "0002_run_agent_version"),
        ("runs", "0003_insight"),
        ("runs", "0004_end_users"),
        ("runs", "0005_budget_warnings"),
        ("runs", "0006_alerts"),
        ("runs", "0007_evaluation"),
        ("runs", "0008_news"),
        ("runs", "0009_withdrawn_messages"),
        ("runs", "0010_effects_read_back"),
        ("runs", "0011_faster_calls"),
        ("runs", "0012_figures_of_calls"),
        ("runs", "0013_rated_answers"),
        ("runs", "0014_own_jobs"),
        ("runs", "0015_order_of_due_runs"),
        ("runs", "0016_tool_days"),
        ("runs", "0017_versions_and_hours"),
        ("runs", "0018_fewer_index_entries"),
    ]
    initial = True

    dependencies = [
        ("events", "0001_schema"),
        ("runtimes", "0001_schema"),
        ("teams", "0001_schema"),
        ("procrastinate", "0041_post_retry_failed_job"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Budget",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("agent", "Agent"),
                            ("team", "Team"),
                            ("person", "Person"),
                            ("thread", "Thread"),
                            ("run", "Run"),
                            ("key", "Key"),
                        ],
                        max_length=6,
                    ),
                ),
                ("of", models.CharField(max_length=255)),
                ("key", models.CharField(max_length=255)),
                (
                    "unit",
                    models.CharField(
                        choices=[("tokens", "Tokens"), ("cost", "Cost")], max_length=6
                    ),
                ),
                ("max", models.DecimalField(decimal_places=6, max_digits=24)),
                (
                    "reserve",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "period",
                    models.CharField(
                        blank=True,
                        choices=[("day", "Day"), ("month", "Month")],
                        default="",
                        max_length=5,
                    ),
                ),
                (
                    "at_limit",
                    models.CharField(
                        choices=[("end", "End"), ("ask", "Ask")], default="end", max_length=3
                    ),
                ),
                (
                    "used",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("created_by", models.CharField(max_length=200)),
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
                ("warned_since", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("max__gte", 0)), name="budget_max_not_negative"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetedRun",
            fields=[
                ("run_id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("tokens", models.BigIntegerField(db_default=0, default=0)),
                (
                    "cost",
                    models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
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
            name="File",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("media_type", models.CharField(max_length=127)),
                ("size", models.BigIntegerField()),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("stored_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "-id"], name="file_team_newest"),
                    models.Index(
                        condition=models.Q(("expires_at__isnull", False)),
                        fields=["expires_at"],
                        name="file_expiring",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("size__gte", 0)), name="file_size_not_negative"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("sha256", ""), ("stored_at", None)),
                            models.Q(
                                ("stored_at__isnull", False),
                                models.Q(("sha256", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="file_sha256_exactly_when_stored",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("stored_at__isnull", False),
                            ("expires_at__isnull", False),
                            _connector="OR",
                        ),
                        name="file_stored_or_expiring",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MailChoice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("last_at", models.DateTimeField(null=True)),
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
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("daily", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "user"), name="mail_choice_once")
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("daily", True)),
                        fields=["last_at"],
                        name="mail_choice_daily",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model", models.CharField(max_length=100)),
                (
                    "input",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ]
                    ),
                ),
                (
                    "output",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ]
                    ),
                ),
                (
                    "cached",
                    models.FloatField(
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000.0),
                        ],
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "model"), name="price_once_per_team"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("input__gte", 0),
                            ("output__gte", 0),
                            models.Q(("cached", None), ("cached__gte", 0), _connector="OR"),
                        ),
                        name="price_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PushKey",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(
                        default=1, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "private",
                    agui_host.security.secrets.SealedField(blank=True, default="", editable=False),
                ),
                ("public", models.CharField(max_length=100)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="push_key_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="PushSubscription",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("session_key", models.CharField(max_length=40)),
                ("digest", models.CharField(max_length=64)),
                (
                    "secrets",
                    agui_host.security.secrets.SealedField(blank=True, default="", editable=False),
                ),
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("digest", "team"), name="push_once_per_browser")
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("shared", models.BooleanField(default=False)),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(max_length=60)),
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("shared", True)),
                        fields=("team", "name"),
                        name="view_name_once_per_team",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("shared", False)),
                        fields=("team", "creator", "name"),
                        name="view_name_once_per_person",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="view_has_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(blank=True, default="", max_length=120)),
                ("agent", models.CharField(max_length=64)),
                ("cron", models.CharField(blank=True, default="", max_length=200)),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                ("run_at", models.DateTimeField(null=True)),
                ("input", models.TextField(default="{}")),
                (
                    "thread",
                    models.CharField(
                        choices=[("new", "New"), ("fixed", "Fixed")], default="new", max_length=5
                    ),
                ),
                ("thread_id", models.CharField(blank=True, default="", max_length=255)),
                (
                    "on_busy",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("reject", "reject"),
                            ("enqueue", "enqueue"),
                            ("cancel_running", "cancel_running"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                (
                    "missed",
                    models.CharField(
                        choices=[("skip", "Skip"), ("once", "Once"), ("all", "All")],
                        default="once",
                        max_length=4,
                    ),
                ),
                ("next_at", models.DateTimeField(null=True)),
                (
                    "stopped",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("paused", "Paused"),
                            ("finished", "Finished"),
                            ("owner_left", "Owner Left"),
                            ("key_revoked", "Key Revoked"),
                            ("no_access", "No Access"),
                        ],
                        default="",
                        max_length=12,
                    ),
                ),
                ("last_tick", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
                ("last_run", models.UUIDField(null=True)),
                ("last_code", models.CharField(blank=True, default="", max_length=60)),
                ("last_message", models.TextField(blank=True, default="")),
                ("runs_as", models.CharField(max_length=200)),
                ("owner", models.CharField(max_length=60)),
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
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_at__isnull", False)),
                        fields=["next_at"],
                        name="schedule_due",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("cron", ""), ("run_at__isnull", False)),
                            models.Q(models.Q(("cron", ""), _negated=True), ("run_at", None)),
                            _connector="OR",
                        ),
                        name="schedule_cron_or_run_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("thread", "new"), ("thread_id", "")),
                            models.Q(
                                ("thread", "fixed"), models.Q(("thread_id", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="schedule_thread_id_exactly_when_fixed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("missed__in", ["skip", "once", "all"])),
                        name="schedule_missed_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("next_at__isnull", False), ("stopped", "")),
                            models.Q(
                                ("next_at", None),
                                (
                                    "stopped__in",
                                    [
                                        "paused",
                                        "finished",
                                        "owner_left",
                                        "key_revoked",
                                        "no_access",
                                    ],
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="schedule_stopped_exactly_without_next",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("next_at", None),
                            ("last_tick", None),
                            ("next_at__gt", models.F("last_tick")),
                            _connector="OR",
                        ),
                        name="schedule_moves_forward",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Spent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("run_id", models.UUIDField()),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=6, max_digits=24)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
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
                ("counted_at", models.DateTimeField(editable=False, null=True)),
                ("read_through", models.UUIDField(editable=False, null=True)),
                (
                    "counted_as",
                    models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Thread",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
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
                ("metadata", models.TextField(blank=True, db_default="", default="")),
                (
                    "chat_digest",
                    models.CharField(blank=True, db_default="", default="", max_length=64),
                ),
                ("chat_by", models.CharField(blank=True, db_default="", default="", max_length=60)),
                ("archived_at", models.DateTimeField(null=True)),
                ("newest", models.UUIDField(editable=False, null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("newest__isnull", False)),
                        fields=["team", "-newest"],
                        name="thread_team_newest",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("archived_at__isnull", False), ("newest__isnull", False)
                        ),
                        fields=["team", "-newest"],
                        name="thread_archived_newest",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("tags", []), _negated=True),
                        fields=["tags"],
                        name="thread_tagged",
                    ),
                    models.Index(
                        condition=models.Q(("chat_digest", ""), _negated=True),
                        fields=["team", "chat_by", "chat_digest", "-id"],
                        name="thread_by_chat",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "thread_id"), name="thread_once_per_team"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["team", "private"])),
                        name="thread_visibility_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Usage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "grain",
                    models.CharField(
                        choices=[
                            ("team", "a day"),
                            ("agent", "an agent and a day"),
                            ("hour", "an agent and an hour"),
                            ("person", "a person or key, and a day"),
                            ("finest", "an agent, a person or key, a model and an hour"),
                        ],
                        max_length=6,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("person", models.CharField(max_length=200)),
                ("owner", models.CharField(max_length=60)),
                ("model", models.CharField(max_length=100)),
                ("parts", models.BigIntegerField(default=0)),
                ("runs", models.BigIntegerField(default=0)),
                ("succeeded", models.BigIntegerField(default=0)),
                ("interrupted", models.BigIntegerField(default=0)),
                ("cancelled", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("tokens_in", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("tokens_out", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("tokens_cached", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                ("cost", models.DecimalField(decimal_places=20, default=0, max_digits=60)),
                ("questions", models.BigIntegerField(default=0)),
                ("queued_ms", models.DecimalField(decimal_places=0, default=0, max_digits=40)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("parts", 0)), fields=["team"], name="usage_empty"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "grain", "at", "agent", "person", "owner", "model"),
                        name="usage_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("grain__in", ["team", "agent", "hour", "person", "finest"])
                        ),
                        name="usage_grain_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sign", models.SmallIntegerField()),
                ("person", models.CharField(max_length=200)),
                ("owner", models.CharField(max_length=60)),
                ("created_at", models.DateTimeField()),
                ("status", models.CharField(max_length=12)),
                ("tokens_in", models.BigIntegerField(null=True)),
                ("tokens_out", models.BigIntegerField(null=True)),
                ("tokens_cached", models.BigIntegerField(null=True)),
                ("cost", models.FloatField(null=True)),
                ("by_model", models.JSONField(null=True)),
                ("questions", models.IntegerField(null=True)),
                ("queued_ms", models.IntegerField(null=True)),
                ("took_ms", models.BigIntegerField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                ("agent_version", models.CharField(max_length=16, null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["team", "id"], name="usage_change_of_team")],
            },
        ),
        migrations.CreateModel(
            name="UsageTook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("owner", models.CharField(max_length=60)),
                ("bucket", models.SmallIntegerField()),
                ("runs", models.BigIntegerField(default=0)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("runs", 0)), fields=["team"], name="usage_took_empty"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "at", "agent", "owner", "bucket"), name="usage_took_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FileReference",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="references",
                        to="runs.file",
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
                        related_name="files",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("thread", "file"), name="file_once_per_thread")
                ],
            },
        ),
        migrations.CreateModel(
            name="Piece",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("digest", models.BinaryField(max_length=32)),
                ("body", models.TextField()),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("thread", "digest"), name="piece_once_per_thread"
                    )
                ],
            },
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
                ("input", runs.models.texts.pieced_text.PiecedText()),
                ("context", models.TextField(null=True)),
                ("result", models.TextField(null=True)),
                ("usage", models.TextField(null=True)),
                ("asked", models.CharField(editable=False, max_length=200, null=True)),
                ("answered", models.CharField(editable=False, max_length=200, null=True)),
                ("tool_calls", models.IntegerField(editable=False, null=True)),
                ("subagents", models.IntegerField(editable=False, null=True)),
                ("tokens_in", models.BigIntegerField(editable=False, null=True)),
                ("tokens_out", models.BigIntegerField(editable=False, null=True)),
                (
                    "tokens_cached",
                    models.BigIntegerField(
                        editable=False,
                        help_text="Of the tokens in, those that the model had cached.",
                        null=True,
                    ),
                ),
                ("cost", models.FloatField(editable=False, help_text="In US dollars.", null=True)),
                (
                    "by_model",
                    models.JSONField(
                        editable=False,
                        help_text="Tokens and cost of each model, of several.",
                        null=True,
                    ),
                ),
                ("questions", models.IntegerField(editable=False, null=True)),
                (
                    "queued_ms",
                    models.IntegerField(
                        editable=False,
                        help_text="From its creation to its start, in milliseconds.",
                        null=True,
                    ),
                ),
                (
                    "ttft_ms",
                    models.IntegerField(
                        editable=False,
                        help_text="From its start to the first piece of text, reasoning or a call.",
                        null=True,
                    ),
                ),
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
                        db_index=False,
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="runs.thread",
                    ),
                ),
                (
                    "agent_version",
                    models.CharField(
                        editable=False,
                        help_text="Of its agent, as the run started.",
                        max_length=16,
                        null=True,
                    ),
                ),
                (
                    "end_user",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The person for whom the key started it: `sub` of the token X-AGUI-User.",
                        max_length=150,
                    ),
                ),
                ("person", models.TextField(editable=False, null=True)),
                ("due_at", models.DateTimeField(editable=False, null=True)),
                ("stamp", models.BigIntegerField(editable=False, null=True)),
                (
                    "traceparent",
                    models.CharField(
                        editable=False,
                        help_text="The span of the request.",
                        max_length=64,
                        null=True,
                    ),
                ),
                (
                    "worker",
                    models.BigIntegerField(
                        editable=False,
                        help_text="The worker that executes it, or has executed it.",
                        null=True,
                    ),
                ),
                (
                    "wanted_version",
                    models.CharField(
                        editable=False,
                        help_text="The version of its agent that it runs, instead of the present one.",
                        max_length=16,
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-journal"],
                "indexes": [
                    models.Index(fields=["team", "-journal"], name="run_team_newest"),
                    models.Index(
                        fields=["team", "-created_at", "-journal"], name="run_team_by_time"
                    ),
                    models.Index(
                        condition=models.Q(("error_code", ""), _negated=True),
                        fields=["team", "error_code", "-journal"],
                        name="run_team_failed_by_code",
                    ),
                    models.Index(fields=["agent", "-journal"], name="run_agent_newest"),
                    models.Index(
                        fields=["team", "started_by", "-journal"], name="run_team_by_starter"
                    ),
                    models.Index(
                        condition=models.Q(("parent__isnull", False)),
                        fields=["parent"],
                        name="run_of_parent",
                    ),
                    models.Index(fields=["thread", "-journal"], name="run_thread_newest"),
                    models.Index(
                        condition=models.Q(("purged_at", None)),
                        fields=["team", "journal"],
                        name="run_not_purged",
                    ),
                    models.Index(
                        condition=models.Q(
                            models.Q(
                                ("asked", None),
                                models.Q(
                                    ("answered", None),
                                    (
                                        "status__in",
                                        ("succeeded", "interrupted", "cancelled", "failed"),
                                    ),
                                ),
                                _connector="OR",
                            ),
                            ("purged_at", None),
                        ),
                        fields=["-journal"],
                        name="run_faceless",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("queued", "running"))),
                        fields=["thread", "status"],
                        name="run_active",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("error_code__in", ("worker_lost", "shutdown")), ("status", "failed")
                        ),
                        fields=["ended_at"],
                        name="run_worker_gone",
                    ),
                    models.Index(
                        condition=models.Q(("agent_version__isnull", False)),
                        fields=["agent", "agent_version", "-journal"],
                        name="run_agent_by_version",
                    ),
                    models.Index(
                        condition=models.Q(("end_user", ""), _negated=True),
                        fields=["team", "end_user", "-journal"],
                        name="run_team_by_end_user",
                    ),
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["stamp", "journal"],
                        name="run_due",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("status__in", ("queued", "running")), ("worker__isnull", False)
                        ),
                        fields=["worker"],
                        name="run_of_worker",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("queued", "running"))),
                        fields=["team", "stamp", "created_at", "journal"],
                        name="run_in_line",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("status__in", ("succeeded", "interrupted", "cancelled", "failed"))
                        ),
                        fields=["team", "status", "-journal"],
                        name="run_team_ended_newest",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run_id", "thread", "attempt"), name="run_once_per_thread"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("repeats__isnull", False)),
                        fields=("repeats",),
                        name="run_repeated_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "running")),
                        fields=("thread",),
                        name="run_one_running_per_thread",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                [
                                    "queued",
                                    "running",
                                    "succeeded",
                                    "interrupted",
                                    "cancelled",
                                    "failed",
                                ],
                            )
                        ),
                        name="run_status_known",
                    ),
                    models.CheckConstraint(
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
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "failed"), ("error_code", ""), _connector="XOR"
                        ),
                        name="run_error_code_exactly_when_failed",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("idempotency_key__isnull", False)),
                        fields=("team", "idempotency_key"),
                        name="run_once_per_key",
                    ),
                ],
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
                ("fold", runs.models.texts.pieced_text.PiecedText()),
                ("through", models.UUIDField()),
                ("rewritten_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("rewritten_at__isnull", False)),
                        fields=["rewritten_at"],
                        name="history_rewritten",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("url", models.CharField(max_length=2000)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30), size=None
                    ),
                ),
                (
                    "agents",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), null=True, size=None
                    ),
                ),
                ("contents", models.BooleanField(default=False)),
                (
                    "secrets",
                    agui_host.security.secrets.SealedField(blank=True, default="", editable=False),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "stopped",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("paused", "Paused"),
                            ("failing", "Failing"),
                            ("gone", "Gone"),
                            ("backlog", "Backlog"),
                            ("maker_left", "Maker Left"),
                            ("ended", "Ended"),
                        ],
                        default="",
                        max_length=12,
                    ),
                ),
                ("failing_since", models.DateTimeField(null=True)),
                ("task", models.UUIDField(null=True)),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(max_length=60)),
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
                    "thread",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("task", None)), fields=["team"], name="webhook_of_team"
                    ),
                    models.Index(
                        condition=models.Q(("thread__isnull", False)),
                        fields=["thread"],
                        name="webhook_of_task",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("agents", None), ("agents__len__gt", 0), _connector="OR"
                        ),
                        name="webhook_agents_not_empty",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("enabled", True), ("stopped", "")),
                            models.Q(
                                ("enabled", False),
                                (
                                    "stopped__in",
                                    ["paused", "failing", "gone", "backlog", "maker_left", "ended"],
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="webhook_stopped_exactly_when_disabled",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), ("task", None), ("thread", None)),
                            models.Q(
                                models.Q(("name", ""), _negated=True),
                                ("task__isnull", False),
                                ("thread__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="webhook_of_team_or_task",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("task__isnull", False)),
                        fields=("task", "creator", "name"),
                        name="webhook_once_per_task_and_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "events__contained_by",
                                (
                                    "run.started",
                                    "run.succeeded",
                                    "run.failed",
                                    "run.cancelled",
                                    "run.interrupted",
                                    "interrupt.opened",
                                    "interrupt.answered",
                                    "interrupt.expired",
                                    "thread.created",
                                    "mention.created",
                                    "budget.warned",
                                    "alert.fired",
                                    "alert.resolved",
                                ),
                            ),
                            ("events__len__gt", 0),
                        ),
                        name="webhook_events_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("seq", None), ("seq__gte", 1), _connector="OR"),
                        name="comment_on_an_event_or_a_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True),
                        name="comment_says_something",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Effect",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("unverified", "Unverified"),
                        ],
                        default="started",
                        max_length=10,
                    ),
                ),
                ("generation", models.IntegerField()),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("version", models.CharField(blank=True, default="", max_length=32)),
                ("seq", models.IntegerField(default=0)),
                ("value", models.TextField(null=True)),
                ("bytes", models.IntegerField(default=0)),
                (
                    "started_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="effects",
                        to="runs.run",
                    ),
                ),
                ("read_by", models.PositiveSmallIntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "key"), name="effect_once_per_run"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["started", "done", "failed", "unverified"])
                        ),
                        name="effect_status_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Failure",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="failure",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("details", models.TextField()),
                (
                    "fingerprint",
                    models.CharField(blank=True, db_default="", default="", max_length=32),
                ),
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("fingerprint", ""), _negated=True),
                        fields=["team", "fingerprint", "-run"],
                        name="failure_team_alike",
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
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="feedback",
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
                    "message_id",
                    models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("thumb__in", ["up", "down"])),
                        name="feedback_thumb_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("writer", ""), _negated=True),
                        fields=("run", "writer", "message_id"),
                        name="feedback_once_per_answer",
                    ),
                ],
                "indexes": [models.Index(fields=["team", "thumb", "-run"], name="feedback_newest")],
            },
        ),
        migrations.CreateModel(
            name="FeedEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("interrupt", models.UUIDField(null=True)),
                ("status", models.CharField(max_length=12)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("position", models.BigIntegerField(null=True)),
                ("epoch", models.BigIntegerField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
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
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("position", None)),
                        fields=["team", "id"],
                        name="feed_unnumbered",
                    ),
                    models.Index(fields=["at"], name="feed_oldest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("position__isnull", False)),
                        fields=("team", "position"),
                        name="feed_position_once_per_team",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
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
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
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
                    "thread",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="runs.thread",
                    ),
                ),
                ("noticed_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("thread", None), ("run", None), _connector="XOR"),
                        name="grant_on_a_thread_or_a_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("to_team", None), ("to_user__isnull", False), ("token_hash", None)
                            ),
                            models.Q(
                                ("to_team__isnull", False), ("to_user", None), ("token_hash", None)
                            ),
                            models.Q(
                                ("to_team", None), ("to_user", None), ("token_hash__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="grant_to_a_person_a_team_or_a_link",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("to_user", None),
                            ("through__isnull", False),
                            ("revoked_at__isnull", False),
                            _connector="OR",
                        ),
                        name="grant_to_a_person_through_a_team",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("to_team", None),
                            models.Q(("to_team", models.F("team")), _negated=True),
                            _connector="OR",
                        ),
                        name="grant_to_another_team",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["view", "comment", "answer", "control"])),
                        name="grant_level_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("token_hash", None),
                            ("level__in", ("view", "comment")),
                            _connector="OR",
                        ),
                        name="grant_link_only_shows",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("token_hash__isnull", False),
                            models.Q(("redact", []), ("sign_in", False)),
                            _connector="OR",
                        ),
                        name="grant_options_are_for_links",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("revoked_at", None), ("revoked_by", "")),
                            models.Q(
                                ("revoked_at__isnull", False),
                                models.Q(("revoked_by", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="grant_revoked_by_somebody",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("noticed_at", None), ("token_hash", None)),
                        fields=["created_at"],
                        name="grant_not_noticed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedRun",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="imported",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("opening", models.TextField()),
                ("imported_by", models.CharField(max_length=200)),
                (
                    "imported_at",
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
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Ingest",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="ingest",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("producer", models.CharField(blank=True, default="", max_length=255)),
                ("epoch", models.BigIntegerField(default=-1)),
                ("seq", models.BigIntegerField(default=-1)),
                ("generation", models.IntegerField()),
                ("memory", models.TextField()),
                ("seen_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("paced_until", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("epoch", -1), ("seq", -1)),
                            models.Q(("epoch__gte", 0), ("seq__gte", 0)),
                            _connector="OR",
                        ),
                        name="ingest_place_whole",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Interrupt",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
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
                    "claimed_by",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("claimer", models.CharField(blank=True, db_default="", default="", max_length=60)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("noticed_at", models.DateTimeField(editable=False, null=True)),
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
                        related_name="interrupts",
                        to="runs.thread",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["thread", "-run"], name="interrupt_thread_newest"),
                    models.Index(fields=["team", "-id"], name="interrupt_team_newest"),
                    models.Index(
                        fields=["team", "status", "-id"], name="interrupt_team_status_newest"
                    ),
                    models.Index(
                        condition=models.Q(("status", "open")),
                        fields=["expires_at"],
                        name="interrupt_open_expiry",
                    ),
                    models.Index(
                        condition=models.Q(("noticed_at", None), ("status", "open")),
                        fields=["created_at"],
                        name="interrupt_not_noticed",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("run"),
                        django.db.models.functions.text.MD5("interrupt_id"),
                        name="interrupt_once_per_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["open", "answered", "cancelled", "expired"])
                        ),
                        name="interrupt_status_known",
                    ),
                    models.CheckConstraint(
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
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "open"), _negated=True),
                            ("answering_run", None),
                            _connector="OR",
                        ),
                        name="interrupt_open_was_told_to_nobody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Recovery",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveSmallIntegerField()),
                ("seq", models.IntegerField()),
                (
                    "reason",
                    models.CharField(
                        choices=[("worker_lost", "Worker Lost"), ("shutdown", "Shutdown")],
                        max_length=12,
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("taken_at", models.DateTimeField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recoveries",
                        to="runs.run",
                    ),
                ),
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
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "number"), name="recovery_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunMessage",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("seq", models.PositiveIntegerField()),
                ("message_id", models.TextField()),
                ("content", models.TextField()),
                (
                    "author",
                    models.CharField(help_text="The label of a person or a key.", max_length=200),
                ),
                ("writer", models.CharField(max_length=60)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("seen_seq", models.PositiveIntegerField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "carried_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="carried_messages",
                        to="runs.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
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
                ("withdrawn_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["run", "seq"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("seen_seq", None)),
                        fields=["run", "seq"],
                        name="run_message_unread",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "seq"), name="run_message_number_once"),
                    models.UniqueConstraint(
                        fields=("run", "message_id"), name="run_message_id_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content", ""), _negated=True),
                        name="run_message_not_empty",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunWords",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("due", models.IntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fastupdate=False, fields=["words"], name="runwords_words"
                    ),
                    models.Index(
                        condition=models.Q(("due__gt", 0)),
                        fields=["team", "-run"],
                        name="runwords_due",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("type", models.CharField(max_length=30)),
                ("thread", models.UUIDField(null=True)),
                ("run", models.UUIDField(null=True)),
                ("interrupt", models.UUIDField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                        ],
                        db_default="pending",
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(db_default=0, default=0)),
                (
                    "due_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("attempts", models.JSONField(default=list)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="runs.webhook",
                    ),
                ),
                ("notice", models.UUIDField(null=True)),
                ("comment", models.UUIDField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["webhook", "-id"], name="delivery_webhook_newest"),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["team", "due_at"],
                        name="delivery_due_of_team",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["team", "webhook", "due_at"],
                        name="delivery_due_of_webhook",
                    ),
                    models.Index(fields=["created_at"], name="delivery_oldest"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("status", "pending")),
                            models.Q(
                                ("ended_at__isnull", False), ("status__in", ("delivered", "failed"))
                            ),
                            _connector="OR",
                        ),
                        name="delivery_ended_at_exactly_when_ended",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MailedLink",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("token_hash", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "interrupt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runs.interrupt",
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
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "abstract": False,
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
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                        null=True,
                    ),
                ),
                ("noticed_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("comment", "user"), name="mention_once_per_comment"
                    )
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("noticed_at", None)),
                        fields=["created_at"],
                        name="mention_not_noticed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Snooze",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sleeper", models.CharField(max_length=60)),
                ("until", models.DateTimeField()),
                (
                    "interrupt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snoozes",
                        to="runs.interrupt",
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("interrupt", "sleeper"), name="snooze_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Issue",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("fingerprint", models.CharField(max_length=32)),
                ("error_code", models.CharField(max_length=40)),
                ("message", models.CharField(blank=True, max_length=200)),
                ("resolved_at", models.DateTimeField(null=True)),
                ("resolved_by", models.CharField(blank=True, default="", max_length=200)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "assignee",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="teams.membership",
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "fingerprint"), name="issue_once_per_team"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IssueNote",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("text", models.TextField(max_length=4000)),
                ("author", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "issue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="runs.issue",
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
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="IssueRun",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="issue_run",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("owner", models.CharField(blank=True, max_length=60)),
                ("at", models.DateTimeField()),
                (
                    "issue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="runs.issue",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["team", "issue", "owner", "at"],
                        include=("run",),
                        name="issue_run_seen",
                    ),
                    models.Index(fields=["issue", "-run"], name="issue_run_newest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("owner", models.CharField(blank=True, max_length=60)),
                ("root", models.UUIDField()),
                ("seq", models.IntegerField()),
                ("call", models.CharField(max_length=300)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("digest", models.CharField(max_length=32)),
                (
                    "status",
                    models.CharField(
                        choices=[("ok", "succeeded"), ("error", "failed"), ("none", "no result")],
                        max_length=5,
                    ),
                ),
                (
                    "double",
                    models.CharField(
                        blank=True,
                        choices=[("ok", "succeeded"), ("error", "failed"), ("none", "no result")],
                        default="",
                        max_length=5,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("took_ms", models.BigIntegerField(null=True)),
                ("result", models.CharField(blank=True, max_length=200)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="runs.run",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "name", "-at"], name="call_tool_newest"),
                    models.Index(
                        condition=models.Q(("double", ""), _negated=True),
                        fields=["team", "-at"],
                        name="call_doubles",
                    ),
                    models.Index(fields=["root"], name="call_of_root"),
                    models.Index(fields=["agent", "-at"], name="call_agent_newest"),
                    models.Index(
                        condition=models.Q(("status", "ok"), _negated=True),
                        fields=["team", "status", "-at"],
                        name="call_not_ok",
                    ),
                    models.Index(
                        fields=["team", "-at"],
                        include=("name", "agent", "owner", "run", "status", "double", "took_ms"),
                        name="call_figures",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "seq", "call"), name="call_once_per_run"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["ok", "error", "none"]),
                            ("double__in", ["", "ok", "error", "none"]),
                        ),
                        name="call_status_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnreadRun",
            fields=[
                ("run_id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "run_id"], name="unread_of_team")],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("type", models.CharField(max_length=30)),
                ("subject", models.UUIDField()),
                ("agent", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("thread", models.UUIDField(null=True)),
                ("data", models.JSONField()),
                (
                    "tell",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("mail", "Mail"), ("push", "Push"), ("webhook", "Webhook")],
                            max_length=7,
                        ),
                        size=None,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("noticed_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("noticed_at", None)),
                        fields=["created_at"],
                        name="notice_not_noticed",
                    ),
                    models.Index(fields=["subject", "-id"], name="notice_of_subject"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "measure",
                    models.CharField(
                        choices=[
                            ("failed_runs", "Failed runs"),
                            ("failure_rate", "Failed runs in percent"),
                            ("p95_duration", "Seconds that 95 % of runs take at most"),
                            ("cost", "Cost in US dollars"),
                            ("waiting_questions", "Questions that wait"),
                        ],
                        max_length=17,
                    ),
                ),
                ("threshold", models.FloatField()),
                ("window_hours", models.PositiveSmallIntegerField()),
                ("least_runs", models.PositiveIntegerField(default=1)),
                ("agent", models.CharField(blank=True, default="", max_length=64)),
                ("person", models.CharField(blank=True, default="", max_length=200)),
                (
                    "tell",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("mail", "Mail"), ("push", "Push"), ("webhook", "Webhook")],
                            max_length=7,
                        ),
                        size=None,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("snoozed_until", models.DateTimeField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("ok", "Ok"), ("firing", "Firing")],
                        default="ok",
                        editable=False,
                        max_length=6,
                    ),
                ),
                ("value", models.FloatField(editable=False, null=True)),
                ("checked_at", models.DateTimeField(editable=False, null=True)),
                ("fired_at", models.DateTimeField(editable=False, null=True)),
                ("calm_since", models.DateTimeField(editable=False, null=True)),
                ("created_by", models.CharField(max_length=200)),
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
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("enabled", True)),
                        fields=["checked_at"],
                        name="alert_due",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("threshold__gt", 0)), name="alert_has_threshold"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="alert_has_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DataSet",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("created_by", models.CharField(max_length=200)),
                ("creator", models.CharField(max_length=60)),
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
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("team", "name"), name="data_set_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="data_set_has_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DataSetRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "data_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="runs.dataset",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("data_set", "run"), name="data_set_run_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunLabel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=40)),
                (
                    "author",
                    models.CharField(help_text="The label of a person or a key.", max_length=200),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "name", "-run"], name="run_label_of_team")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "name"), name="run_label_once"),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="run_label_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Trial",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=agui_host.backends.postgres.clock.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("agent", models.CharField(max_length=64)),
                ("created_by", models.CharField(max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "data_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="runs.dataset",
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
                ("version", models.CharField(blank=True, db_default="", default="", max_length=16)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TrialRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("problem", models.CharField(blank=True, default="", max_length=60)),
                (
                    "again",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="runs.run"
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
                    "trial",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="runs.trial",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("trial", "run"), name="trial_run_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "heartbeat",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "queues",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("free", models.IntegerField()),
                ("draining", models.BooleanField(db_default=False, default=False)),
                ("chores", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ToolChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "day"], name="tool_change_of_team")],
            },
        ),
        migrations.CreateModel(
            name="ToolDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("name", models.CharField(blank=True, max_length=200)),
                ("owner", models.CharField(blank=True, max_length=60)),
                ("calls", models.IntegerField()),
                ("failed", models.IntegerField()),
                ("doubles", models.IntegerField()),
                (
                    "buckets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.SmallIntegerField(), size=None
                    ),
                ),
                (
                    "counts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "day"], name="tool_day_of_team")],
            },
        ),
        migrations.CreateModel(
            name="AgentTerms",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=16)),
                ("kind", models.CharField(max_length=20)),
                ("target", models.CharField(max_length=500)),
                ("code", models.CharField(max_length=16)),
                ("settings", models.JSONField()),
                ("middleware", models.JSONField()),
                ("context_providers", models.JSONField()),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "version"), name="agent_terms_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageTookHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("owner", models.CharField(max_length=60)),
                ("bucket", models.SmallIntegerField()),
                ("runs", models.BigIntegerField(default=0)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("runs", 0)),
                        fields=["team"],
                        name="usage_took_hour_empty",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "at", "agent", "owner", "bucket"),
                        name="usage_took_hour_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=16)),
                ("owner", models.CharField(max_length=60)),
                ("bucket", models.SmallIntegerField()),
                ("runs", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=20, default=0, max_digits=60)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runtimes.agent",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("runs", 0)), fields=["team"], name="usage_version_empty"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "agent", "version", "owner", "bucket"),
                        name="usage_version_once",
                    )
                ],
            },
        ),
        migrations.RunSQL(SEQUENCES, migrations.RunSQL.noop),
        early("agui_reaches_all", "agui_reached"),
        migrations.RunSQL(VIEW, "drop view runs_wordsreached"),
        migrations.RunSQL(STATISTICS, migrations.RunSQL.noop),
        migrations.RunSQL(COUNTERS, "drop table agui_counter; drop table agui_seat"),
    ]
