from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('debate', '0002_statement_details'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='debate',
            name='debate_status',
        ),
        migrations.AddIndex(
            model_name='debate',
            index=models.Index(fields=['debate_set', 'status', 'verdict'], name='debate_status'),
        ),
    ]
