from importlib import import_module

from django.db import migrations

# A log is marked when a writer takes it over in a new epoch. One that only continues has lost
# nothing, since its head is still the one that it knows.
TRIGGER = """
drop trigger agui_mark_epoch on events_journal;
create trigger agui_mark_epoch before update on events_journal for each row
    when (new.writer <> old.writer
          and coalesce(old.marks[cardinality(old.marks)], old.epoch)::text
          is distinct from current_setting('agui.epoch', true))
    execute function agui_mark_epoch();
"""
BEFORE = import_module("events.migrations.0006_epochs").FUNCTIONS
START = BEFORE.index("create trigger agui_mark_epoch")
TRIGGER_BEFORE = (
    "drop trigger agui_mark_epoch on events_journal;" + BEFORE[START : BEFORE.index(";", START) + 1]
)


class Migration(migrations.Migration):
    dependencies = [("events", "0006_epochs")]
    operations = [migrations.RunSQL(TRIGGER, TRIGGER_BEFORE)]
