"""Systems that answer here, what they were asked, and how a response was made.

On SQLite Django would copy the table of responses to add a column that is never null, and lose the triggers that index
their words.
"""

import django.db.models.deletion
from django.db import migrations, models

STOP_REASON = models.CharField(blank=True, db_default="", default="", max_length=40)


def add_stop_reason(apps, schema_editor):
    """Add the column in place."""
    model = apps.get_model("judging", "Response")
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(f"ALTER TABLE {model._meta.db_table} ADD COLUMN stop_reason varchar(40) NOT NULL DEFAULT ''")
        return
    field = STOP_REASON.clone()
    field.set_attributes_from_name("stop_reason")
    field.model = model
    schema_editor.add_field(model, field)


def remove_stop_reason(apps, schema_editor):
    """Take the column away."""
    schema_editor.execute(f"ALTER TABLE {apps.get_model('judging', 'Response')._meta.db_table} DROP COLUMN stop_reason")


class Migration(migrations.Migration):

    dependencies = [
        ("judging", "0029_golden_runs"),
    ]

    operations = [
        migrations.CreateModel(
            name='Ask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('stop_reason', models.CharField(blank=True, max_length=40)),
                ('failure', models.CharField(blank=True, max_length=60)),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('call_ids', models.JSONField(default=list)),
            ],
        ),
        migrations.AddField(
            model_name='response',
            name='call',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='responses', to='judging.call'),
        ),
        migrations.AddField(
            model_name='response',
            name='seconds',
            field=models.FloatField(null=True),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_stop_reason, remove_stop_reason)],
            state_operations=[migrations.AddField(model_name="response", name="stop_reason", field=STOP_REASON)],
        ),
        migrations.AddField(
            model_name='system',
            name='asking',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='system',
            name='endpoint',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='systems', to='judging.modelendpoint'),
        ),
        migrations.AddField(
            model_name='system',
            name='is_active',
            field=models.BooleanField(default=True),
        ),
        migrations.AddIndex(
            model_name='runtask',
            index=models.Index(condition=models.Q(('evaluator__isnull', False), ('status', 'waiting')), fields=['run', 'id'], name='task_waiting_evaluator'),
        ),
        migrations.AddField(
            model_name='ask',
            name='case',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='asks', to='judging.case'),
        ),
        migrations.AddField(
            model_name='ask',
            name='response',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='asks', to='judging.response'),
        ),
        migrations.AddField(
            model_name='ask',
            name='run',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='asks', to='judging.run'),
        ),
        migrations.AddField(
            model_name='ask',
            name='system',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='asks', to='judging.system'),
        ),
        migrations.AddConstraint(
            model_name='ask',
            constraint=models.UniqueConstraint(fields=('run', 'system', 'case', 'attempt'), name='ask_once'),
        ),
    ]
