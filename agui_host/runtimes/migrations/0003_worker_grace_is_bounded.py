from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runtimes", "0002_worker_grace")]

    operations = [ValidateConstraint(model_name="agent", name="agent_worker_grace_bounded")]
