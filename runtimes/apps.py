from django.apps import AppConfig


class RuntimesConfig(AppConfig):
    """Finds the agents that installed apps register, and brings them to teams with `migrate`."""

    name = "runtimes"

    def ready(self) -> None:
        # Models can be imported only now; `file_directory` registers its check.
        from runtimes import file_directory, provisioning, registry  # noqa: F401
        from teams.management.commands import migrate

        registry.autodiscover()
        if provisioning.bring not in migrate.AFTER:
            migrate.AFTER.append(provisioning.bring)
