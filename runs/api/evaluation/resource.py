"""The resources of evaluation."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.kinds import starts
from agui_host.protocol.errors import Invalid
from agui_host.teams.api.bodies import without_body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.api.queries import refuse_unknown
from agui_host.teams.authentication import principal_of
from runs.access.evaluation import data_sets, labels, lines, trials
from runs.api.evaluation import serializers as shapes
from runs.api.evaluation import viewed
from runs.models import DataSet, Trial

TO_REVIEW = OpenApiParameter("review", bool, description="true: only runs without good or bad.")
FORM = OpenApiParameter("form", str, enum=list(lines.FORMS), description="pydantic-evals if absent")


class RunLabels(APIView):
    @extend_schema(responses={200: shapes.LabelsSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """The labels of a run."""
        return _labels(labels.of(principal_of(request), run_id))

    @extend_schema(request=shapes.LabelsBody, responses={200: shapes.LabelsSerializer})
    def put(self, request: Request, run_id: UUID) -> Response:
        """Replace the labels of a run."""
        names = shapes.LabelsBody.read(request)["labels"]
        return _labels(labels.replace(principal_of(request), run_id, names))


class DataSetList(generics.ListAPIView[DataSet]):
    """The team's data sets, newest first."""

    serializer_class = shapes.DataSetSerializer
    pagination_class = NewestFirst
    queryset = DataSet.objects.none()

    def get_queryset(self) -> QuerySet[DataSet]:
        return data_sets.visible(principal_of(self.request))

    @extend_schema(request=shapes.DataSetBody, responses={201: shapes.DataSetSerializer})
    def post(self, request: Request) -> Response:
        """Make a data set of ended runs."""
        values = shapes.DataSetBody.read(request)
        row = data_sets.create(principal_of(request), values["name"], values["runs"])
        return Response(shapes.DataSetSerializer(row).data, status=201)


class DataSetDetail(APIView):
    @extend_schema(responses={200: shapes.DataSetSerializer})
    def get(self, request: Request, data_set_id: UUID) -> Response:
        """One data set."""
        row = data_sets.find(principal_of(request), data_set_id)
        return Response(shapes.DataSetSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, data_set_id: UUID) -> Response:
        """Delete a data set with its trials; its runs stay."""
        data_sets.remove(principal_of(request), data_set_id)
        return Response(status=204)


class DataSetRuns(APIView):
    @extend_schema(parameters=[TO_REVIEW], responses={200: shapes.DataSetRunsSerializer})
    def get(self, request: Request, data_set_id: UUID) -> Response:
        """The runs of a data set that the caller sees; with ``review`` those to review."""
        principal = principal_of(request)
        row = data_sets.find(principal, data_set_id)
        refuse_unknown(request, ("review",))
        review = request.query_params.get("review", "false")
        if review not in ("true", "false"):
            raise Invalid("review is true or false.", details={"path": "review"})
        runs = list(data_sets.runs_of(principal, row, to_review=review == "true"))
        context = {"labels": labels.by_run(runs)}
        return Response(
            {"results": shapes.DataSetRunSerializer(runs, many=True, context=context).data}
        )

    @extend_schema(request=shapes.RunsBody, responses={200: shapes.AddedSerializer})
    def post(self, request: Request, data_set_id: UUID) -> Response:
        """Add ended runs of threads that the whole team sees."""
        principal = principal_of(request)
        data_sets.find(principal, data_set_id)
        values = shapes.RunsBody.read(request)
        keys = values.pop("runs", None)
        if keys is None:
            keys = viewed.newest(principal, **values)
        return Response({"added": data_sets.add(principal, data_set_id, keys)})


class DataSetRunDetail(APIView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, data_set_id: UUID, run_id: UUID) -> Response:
        """Take a run out of a data set."""
        data_sets.take_out(principal_of(request), data_set_id, run_id)
        return Response(status=204)


class DataSetExport(APIView):
    @extend_schema(parameters=[FORM], responses={(200, "application/x-ndjson"): OpenApiTypes.STR})
    def get(self, request: Request, data_set_id: UUID) -> HttpResponse:
        """The data set as lines of JSON, for pydantic-evals or Langfuse."""
        principal = principal_of(request)
        row = data_sets.find(principal, data_set_id)
        refuse_unknown(request, ("form",))
        form = request.query_params.get("form", next(iter(lines.FORMS)))
        if form not in lines.FORMS:
            raise Invalid("The form is pydantic-evals or langfuse.", details={"path": "form"})
        return as_file(b"".join(lines.of(principal, row, form)))


@starts
class Trials(APIView):
    @extend_schema(responses={200: shapes.TrialsSerializer})
    def get(self, request: Request, data_set_id: UUID) -> Response:
        """The trials of a data set, newest first."""
        principal = principal_of(request)
        rows = trials.of(principal, data_sets.find(principal, data_set_id))
        return Response({"results": shapes.TrialSerializer(rows, many=True).data})

    @extend_schema(request=shapes.TrialBody, responses={201: shapes.ComparisonSerializer})
    def post(self, request: Request, data_set_id: UUID) -> Response:
        """Run a data set again, each run in a new thread, with an agent or a version of it."""
        principal = principal_of(request)
        data_sets.find(principal, data_set_id)
        values = shapes.TrialBody.read(request)
        row = trials.start(principal, data_set_id, values["agent"], values["version"])
        return _comparison(request, row, 201)


@starts
class TrialDetail(APIView):
    @extend_schema(responses={200: shapes.ComparisonSerializer})
    def get(self, request: Request, trial_id: UUID) -> Response:
        """A trial: each run of its data set beside its repetition."""
        return _comparison(request, trials.find(principal_of(request), trial_id))

    @extend_schema(request=None, responses={200: shapes.ComparisonSerializer})
    @without_body
    def post(self, request: Request, trial_id: UUID) -> Response:
        """Start the runs that a limit of the team has held up."""
        return _comparison(request, trials.go_on(principal_of(request), trial_id))


def as_file(content: bytes) -> HttpResponse:
    """The lines as a download."""
    answer = HttpResponse(content, content_type="application/x-ndjson")
    answer["Content-Disposition"] = 'attachment; filename="data-set.jsonl"'
    return answer


def _labels(rows: list[Any]) -> Response:
    return Response({"labels": shapes.LabelSerializer(rows, many=True).data})


def _comparison(request: Request, row: Trial, status: int = 200) -> Response:
    context = {"principal": principal_of(request)}
    return Response(shapes.ComparisonSerializer(row, context=context).data, status=status)
