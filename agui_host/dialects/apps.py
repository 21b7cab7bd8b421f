from django.apps import AppConfig


class DialectsConfig(AppConfig):
    """Gives the life of runs the few facts about dialects that it needs, in every process."""

    name = "agui_host.dialects"

    def ready(self) -> None:
        from agui_host.dialects.a2a import push_messages
        from runs.lifecycle.webhooks import pushes

        pushes.provide(push_messages)
