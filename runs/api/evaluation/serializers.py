"""The answers of the resources of evaluation, and the bodies they take."""

from typing import Any

from rest_framework import serializers

from agui_host.teams.api.bodies import Body
from runs.access.evaluation import data_sets, labels, trials
from runs.models import DataSet, Run, RunLabel, Trial
from runs.models.evaluation.label import LONGEST_LABEL


class LabelSerializer(serializers.ModelSerializer[RunLabel]):
    """A label of a run."""

    class Meta:
        model = RunLabel
        fields = ["name", "author", "created_at"]
        read_only_fields = fields


class LabelsSerializer(serializers.Serializer[Any]):
    """The labels of a run."""

    labels = LabelSerializer(many=True)


class LabelsBody(Body):
    """The labels that a run is to have."""

    labels = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_LABEL), max_length=labels.MOST
    )


class DataSetSerializer(serializers.ModelSerializer[DataSet]):
    """A data set."""

    class Meta:
        model = DataSet
        fields = ["id", "name", "created_by", "created_at"]
        read_only_fields = fields


def _runs(**options: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.UUIDField(), max_length=data_sets.MOST_RUNS, **options
    )


class DataSetBody(Body):
    """A new data set."""

    name = serializers.CharField(max_length=120)
    runs = _runs(required=False, default=list)


class RunsBody(Body):
    """Runs for a data set: by their ids, or the newest ones."""

    runs = _runs(required=False)
    view = serializers.UUIDField(
        required=False,
        default=None,
        help_text="The id of a saved view: only runs among its newest 2,500. "
        "Words such as `today` are in UTC.",
    )
    agent = serializers.CharField(max_length=64, required=False, default="")
    label = serializers.CharField(  # type: ignore[assignment]  # a field of this name
        max_length=LONGEST_LABEL, required=False, default=""
    )
    most = serializers.IntegerField(
        min_value=1, max_value=data_sets.MOST_RUNS, required=False, default=20,
        help_text="Without runs: how many of the newest ended runs of the view, agent and label.",
    )  # fmt: skip


class AddedSerializer(serializers.Serializer[Any]):
    """How many runs were added."""

    added = serializers.IntegerField()


class DataSetRunSerializer(serializers.ModelSerializer[Run]):
    """A run of a data set, in short."""

    agent = serializers.CharField(source="agent.slug")
    labels = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = ["id", "agent", "status", "asked", "answered", "cost", "created_at", "labels"]
        read_only_fields = fields

    def get_labels(self, run: Run) -> list[str]:
        """The names of its labels."""
        names: list[str] = self.context["labels"][run.pk]
        return names


class DataSetRunsSerializer(serializers.Serializer[Any]):
    """The runs of a data set, newest first."""

    results = DataSetRunSerializer(many=True)


class TrialBody(Body):
    """The agent that runs the data set again."""

    agent = serializers.CharField(max_length=64)
    version = serializers.CharField(
        max_length=16, required=False, default="", allow_blank=True,
        help_text="A former version of the agent, by those who manage agents; absent: the present.",
    )  # fmt: skip


class SideSerializer(serializers.ModelSerializer[Run]):
    """One side of a comparison."""

    agent = serializers.CharField(source="agent.slug")
    took_ms = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = ["id", "agent", "agent_version", "status", "error_code", "answered", "took_ms",
                  "cost", "tokens_in", "tokens_out"]  # fmt: skip
        read_only_fields = fields

    def get_took_ms(self, run: Run) -> int | None:
        """Milliseconds from its start to its end."""
        if run.started_at is None or run.ended_at is None:
            return None
        return round(1000 * (run.ended_at - run.started_at).total_seconds())


class PairSerializer(serializers.Serializer[Any]):
    """A run before, and again."""

    before = SideSerializer()
    after = SideSerializer(allow_null=True)
    problem = serializers.CharField(help_text="The code of the error that refused the new run.")
    differs = serializers.BooleanField()


class TrialSerializer(serializers.ModelSerializer[Trial]):
    """A trial of a data set."""

    waiting = serializers.IntegerField(
        help_text="The runs that have not been started yet: the team has reached a limit."
    )

    class Meta:
        model = Trial
        fields = ["id", "data_set", "agent", "version", "waiting", "created_by", "created_at"]
        read_only_fields = fields


class TrialsSerializer(serializers.Serializer[Any]):
    """The trials of a data set, newest first."""

    results = TrialSerializer(many=True)


class ComparisonSerializer(TrialSerializer):
    """A trial with its runs, side by side."""

    pairs = serializers.SerializerMethodField()

    class Meta(TrialSerializer.Meta):
        fields = [*TrialSerializer.Meta.fields, "pairs"]
        read_only_fields = fields

    def get_pairs(self, row: Trial) -> list[dict[str, Any]]:
        """The runs that the caller sees."""
        pairs = trials.pairs(self.context["principal"], row)
        return list(PairSerializer(pairs, many=True).data)
