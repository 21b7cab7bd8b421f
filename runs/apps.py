from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Threads and runs."""

    name = "runs"

    def ready(self) -> None:
        """End what a person who leaves a team has shared, what calls them, what runs as them, and
        the views that only they have.
        """
        from runs.access import sharing, webhooks  # Models can be imported only now.
        from runs.access.inspect import saved_views
        from runs.access.schedules import manage
        from teams import offboarding

        enders = (sharing.withdraw, webhooks.withdraw, manage.withdraw, saved_views.withdraw)
        for ender in enders:
            if ender not in offboarding.ENDERS:
                offboarding.ENDERS.append(ender)
