"""Debates in the words of the pages: agents with numbers, the independent round, perturbed criteria."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

KEYS = {
    "seating": "agent_order",
    "both_orders_opening": "independent_both_orders",
    "damage": "perturbation",
    "damage_seed": "perturbation_seed",
    "damage_is_given": "perturbation_is_given",
}


def rename_keys(apps: Apps, names: dict[str, str]) -> None:
    debate_sets = apps.get_model("debate", "DebateSet")
    for debate_set in debate_sets.objects.only("setup").order_by("pk").iterator(chunk_size=500):
        setup = {names.get(key, key): value for key, value in debate_set.setup.items()}
        if setup != debate_set.setup:
            debate_sets.objects.filter(pk=debate_set.pk).update(setup=setup)


def forwards(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    rename_keys(apps, KEYS)


def backwards(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    rename_keys(apps, {new: old for old, new in KEYS.items()})


class Migration(migrations.Migration):

    dependencies = [
        ("debate", "0008_plain_words"),
    ]

    operations = [
        migrations.RemoveConstraint("speaker", "speaker_seat_once"),
        migrations.RemoveConstraint("statement", "statement_once"),
        migrations.RenameModel("Speaker", "Agent"),
        migrations.RenameField("agent", "seat", "number"),
        migrations.RenameField("statement", "speaker", "agent"),
        migrations.RenameField("batchstatement", "seat", "agent_number"),
        migrations.RenameField("debate", "submission_order", "response_order"),
        migrations.RenameField("debate", "opening_verdict", "independent_verdict"),
        migrations.RenameField("batchdebate", "submission_order", "response_order"),
        migrations.RenameField("batchdebate", "opening_verdict", "independent_verdict"),
        migrations.AlterField(
            "agent",
            "debate",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="agents", to="debate.debate"
            ),
        ),
        migrations.AlterField(
            "agent",
            "endpoint",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="agents",
                to="judging.modelendpoint",
            ),
        ),
        migrations.AddConstraint(
            "agent", models.UniqueConstraint(fields=["debate", "number"], name="agent_number_once")
        ),
        migrations.AddConstraint(
            "statement", models.UniqueConstraint(fields=["agent", "round"], name="statement_once")
        ),
        migrations.RunPython(forwards, backwards),
    ]
