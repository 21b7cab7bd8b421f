"""The form of an alert."""

from typing import Any

from django import forms

from agui_host.teams.authentication import Principal
from runs.access.alerts import manage
from runs.access.inspect import saved_views
from runs.api.listing import box
from runs.models import Measure, Way

WINDOWS = [
    (0, "now"), (1, "the last hour"), (6, "6 hours"), (24, "a day"), (168, "a week"),
    (720, "30 days"),
]  # fmt: skip
WAYS = [
    (Way.MAIL.value, "mail"),
    (Way.PUSH.value, "notifications"),
    (Way.WEBHOOK.value, "webhooks"),
]
SNOOZES = [(1, "an hour"), (24, "a day"), (168, "a week")]
"""Hours."""


class AlertForm(forms.Form):
    """A new alert; the verb checks its agent and its view."""

    name = forms.CharField(label="Name", max_length=120)
    measure = forms.ChoiceField(label="Measure", choices=Measure.choices)
    threshold = forms.FloatField(label="Fires at", min_value=1e-6, max_value=manage.LARGEST)
    window_hours = forms.TypedChoiceField(label="Over", choices=WINDOWS, coerce=int, initial=1)
    least_runs = forms.IntegerField(
        label="With at least so many runs", min_value=1, max_value=10**9, initial=1
    )
    agent = forms.SlugField(label="Agent (empty: all)", max_length=64, required=False)
    started_by = forms.CharField(
        label="Person (login; a key as key:PREFIX; empty: all)", max_length=200, required=False
    )
    view = forms.UUIDField(
        label="Or the filters of a saved view", required=False, widget=forms.Select
    )
    tell = forms.MultipleChoiceField(
        label="Tell by",
        choices=WAYS,
        initial=list(Way.values),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, principal: Principal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        views = saved_views.visible(principal).order_by("name").values_list("pk", "name")
        widget = self.fields["view"].widget
        assert isinstance(widget, forms.Select)  # noqa: S101
        widget.choices = [("", "none"), *((str(pk), name) for pk, name in views)]

    def values(self) -> dict[str, Any]:
        """The form's values, as the verb takes them; empty filters are the view's."""
        values = dict(self.cleaned_data)
        person = values.pop("started_by")
        filters = {"agent": values.pop("agent"), "person": person and box.label_of(person)}
        return values | {name: value for name, value in filters.items() if value}
