from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0009_withdrawn_messages"),
    ]

    operations = [
        migrations.AddField(
            model_name="effect",
            name="read_by",
            field=models.PositiveSmallIntegerField(null=True),
        ),
    ]
