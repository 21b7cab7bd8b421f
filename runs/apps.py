from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Threads and runs."""

    name = "runs"

    def ready(self) -> None:
        """End the shares, webhooks and schedules of a person who leaves a team, the views that only
        they have, and their unread messages; make LangGraph's tables with ``migrate``.
        """
        from agui_host.frameworks import checkpoints
        from agui_host.teams import offboarding
        from agui_host.teams.management.commands import migrate
        from runs.access import comments, sharing, webhooks  # Models can be imported only now.
        from runs.access.inspect import saved_views
        from runs.access.schedules import manage

        enders = (
            sharing.withdraw,
            webhooks.withdraw,
            manage.withdraw,
            saved_views.withdraw,
            comments.withdraw,
        )
        for ender in enders:
            if ender not in offboarding.ENDERS:
                offboarding.ENDERS.append(ender)
        if checkpoints.setup not in migrate.AFTER:
            migrate.AFTER.append(checkpoints.setup)
