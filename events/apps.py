from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The journal."""

    name = "events"
