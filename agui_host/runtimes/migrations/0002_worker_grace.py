import django.core.validators
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runtimes", "0001_schema")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="worker_grace",
            field=models.FloatField(
                blank=True,
                help_text="Seconds that its runs have when their worker is stopped, at most those "
                "of the host's setting. Empty: none if another worker continues them, else the "
                "host's setting.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(86400),
                ],
            ),
        ),
        AddConstraintNotValid(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("worker_grace", None),
                    models.Q(("worker_grace__gte", 0), ("worker_grace__lte", 86400)),
                    _connector="OR",
                ),
                name="agent_worker_grace_bounded",
            ),
        ),
    ]
