from django.db import migrations, models


def every_scope():
    """What tokens could be used for before they had scopes."""
    return ["read", "annotate", "run", "admin"]


class Migration(migrations.Migration):

    dependencies = [
        ('api', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apitoken',
            options={'default_permissions': ('add',)},
        ),
        migrations.AddField(
            model_name='apitoken',
            name='prefix',
            field=models.CharField(default='evs_', max_length=20),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='apitoken',
            name='scopes',
            field=models.JSONField(default=every_scope),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='scopes',
            field=models.JSONField(default=list),
        ),
    ]
