"""Fixtures that every app's tests may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from pytest_django import DjangoDbBlocker

from tests.sizes import IS_WHOLE, sized

pytest_plugins = ["tests.fake_llm.fixture", "tests.own_redis", "tests.sharing"]

hypothesis.settings.register_profile(  # an example that waits for a busy machine is not wrong
    "evalsite", deadline=None, max_examples=sized(40, whole=400)
)
hypothesis.settings.load_profile("evalsite")

REPOSITORY = Path(__file__).resolve().parent.parent
LONGEST_FIRST = (  # so that no process is left alone with one of these at the end
    "flows/test_desk_pages.py",  # with it those of people who review, with the next all others on a demo
    "flows/test_folder_import.py",
    "evalsite/demo/test_demo_command.py",
    "flows",
    "evalsite/test_migration_ways.py",
    "evalsite/serving/test_backups.py",
    "judging/services/test_kill.py",
    "judging/sandbox/test_attacks.py",
    "debate/services/test_scripted_debates.py",
    "evalsite/review/test_kill.py",
    "judging/llm/test_limiter.py",
    "parity/test_recorded_runs.py",
    "judging/services/esi_tasks/test_esi_tasks.py",
    "judging/grading/test_rules.py",
    "evalsite/serving",
    "providers/test_dialects.py",  # the last ones wait more than they compute
    "test_sharing.py",
    "judging/services/day_budgets",
    "judging/services/test_several_runs.py",
    "evalsite/test_rolling_restart.py",
    "evalsite/test_leaks.py",
)
LAST_FLOWS = tuple(
    f"flows/test_{name}.py" for name in ("asked_systems", "golden_study", "panel", "client", "front_door")
)
BACKEND_FREE = (  # pure code, HTTP, the sandbox, pages, files: one backend's pass is enough even where there are rows
    "architecture/",
    "judging/specs/",
    "judging/grading/",
    "judging/judges/",
    "judging/llm/",
    "judging/sandbox/",
    "debate/protocol/",
    "judging/statistics/",
    "flows/",  # browsers see the same HTML; TWICE says which bring import, workers and locks to a browser
    "providers/",  # replies of providers over HTTP
    "evalsite/base/rich_text/",
    "evalsite/base/template_tags/",
    "evalsite/documents/",
    "evalsite/review/tables/",
    # what they ask the database is asked in tests of selectors and services, and of every address
    *(f"evalsite/accounts/test_{name}.py" for name in ("views", "sign_in")),
    # the acts call services, which are tested on both; every address is asked in test_hostile_queries
    *(f"evalsite/api/test_{name}.py" for name in ("operations", "doors", "contract")),
    *(f"evalsite/reports/test_{name}.py" for name in ("views", "commands", "debates_command", "judge_commands")),
    # what files say, which is stored as in test_imports and test_responses
    *(f"judging/services/file_imports/test_{name}.py" for name in ("intake", "column_intake", "corpus_imports")),
    *(f"judging/services/file_imports/test_{name}.py" for name in ("imported_runs", "peer_files", "pictures")),
    *("judging/services/endpoints/", "judging/services/test_hostile_rules.py", "judging/actions/test_progress.py"),
    # judges and tasks of many kinds, which the engine drives as it does those of test_call_engine and test_run_worker
    *(f"judging/services/test_{name}.py" for name in ("panel_judges", "panel_runs", "comparison_runs", "known_cases")),
    *(f"judging/services/test_{name}.py" for name in ("troubled_runs", "own_prompt_runs", "sent_bodies")),
    *("judging/services/esi_tasks/test_esi_tasks.py", "judging/selectors/judges/test_score_scales.py"),
    *("judging/services/pools/", "judging/services/day_budgets/test_frozen_endpoints.py"),
    *(f"judging/selectors/judges/test_{name}.py" for name in ("judge_needs", "suggested_judges")),
    # forms and files of queues; who is handed what is asked in review/services/items
    *(f"evalsite/review/test_{name}.py" for name in ("file_queues", "form_queues", "ranking_queues", "gold_items")),
    *(
        "evalsite/review/test_annotation_round_trip.py",
        "evalsite/review/selectors/verdict_reviews/test_people_quotes.py",
    ),
    "evalsite/review/services/test_annotation_imports.py",
    "evalsite/review/migrations/test_fill_subjects.py",  # rows made over by Django's own objects
    # every page answers on both backends in test_hostile_queries
    *(f"evalsite/reports/test_{name}.py" for name in ("labels", "scores_keep_their_scale", "imported_runs")),
    *("evalsite/reports/test_mixed_runs.py", "evalsite/reports/services/test_audited_leaderboards.py"),
    "evalsite/api/test_reports.py",
    *(f"evalsite/accounts/test_{name}.py" for name in ("admissions", "sessions", "backends", "roles", "init_site")),
    *("debate/services/set_plans/", "debate/services/test_experiments.py"),
    *(f"debate/services/test_{name}.py" for name in ("record_imports", "debate_images", "scripted_debates")),
    "debate/services/set_tables/test_set_tables.py",
    "tool_logs/",
    "local_llm/",
    *("debate/test_pages.py", "debate/test_experiment_pages.py", "evalsite/test_views.py"),
    "evalsite/demo/content/test_content.py",  # flows on either backend load it
    "evalsite/reports/test_coverage_bench.py",  # statistics over stored rows
    "evalsite/reports/test_debate_pages.py",
    "evalsite/reports/services/judge_trust/test_judge_trust.py",
    "evalsite/reports/services/test_judge_bias.py",
    "evalsite/test_access.py",
    "evalsite/test_leaks.py",
    "evalsite/test_viewer.py",
    "evalsite/test_upgrade.py",  # of a dump of SQLite's
    "parity/test_recorded_runs.py",
    "evalsite/demo/test_demo_command.py",  # brings its own database and broker
    "evalsite/serving/middleware/test_bodies.py",
    "evalsite/serving/test_broker.py",
    "evalsite/serving/test_locations.py",
    "evalsite/serving/test_gunicorn_conf.py",
    "evalsite/test_old_commands.py",  # words of refusals
)


TWICE = tuple(f"flows/test_{name}.py" for name in ("import_to_board", "settled_disagreement"))
BACKEND_FREE_FOLDERS = {"views", "management"}  # HTML and text; every address is asked in test_hostile_queries
STATEFUL = {"db", "django_db_setup", "postgres", "redis_server", "own_redis"}  # without them a test meets no backend


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what would be deselected: each process of a run reads every file that is not left out."""
    return True if config.option.markexpr == "not backend_free" and _is_backend_free(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of what knows neither database nor broker, before `-m` looks at the marks."""
    used = STATEFUL.intersection(item.fixturenames) if isinstance(item, pytest.Function) else STATEFUL
    if _is_backend_free(item.path) or not (used or item.get_closest_marker("django_db")):
        item.add_marker("backend_free")


def _is_backend_free(path: Path) -> bool:
    inside = path.relative_to(REPOSITORY / "tests") if path.is_relative_to(REPOSITORY / "tests") else Path()
    if f"{inside}".startswith(TWICE) or any(name.startswith(f"{inside}/") for name in TWICE):  # or their folder
        return False
    return f"{inside}/".startswith(BACKEND_FREE) or not BACKEND_FREE_FOLDERS.isdisjoint(inside.parts)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest first, and flows that add suites and judges to the demo behind those that look at the newest."""
    if not IS_WHOLE:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    longest = tuple(str(REPOSITORY / "tests" / name) for name in LONGEST_FIRST)
    last = [REPOSITORY / "tests" / name for name in LAST_FLOWS]
    rank = {item: next((n for n, path in enumerate(longest) if str(item.path).startswith(path)), 99) for item in items}
    items.sort(key=lambda item: (last.index(item.path) if item.path in last else -1, rank[item]))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the template of this run's databases once every process of the run has ended."""
    if not hasattr(config, "workerinput"):
        from tests import databases

        if databases.SHARED_DEMO.exists():
            from tests.flows.conftest import end_shared_site

            end_shared_site()
        if databases.IS_MADE.exists():
            databases.drop(databases.TEMPLATE)
        if databases.OLDER_IS_MADE.exists():
            databases.drop(databases.OLDER)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Give this process a migrated database, in place of pytest-django's own fixture, which migrates in each."""
    from django.db import connection
    from django.test import TransactionTestCase

    from tests import databases

    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # the stubs leave private names out
    with django_db_blocker.unblock():
        databases.open_test_database()
        emptier = databases.Emptier()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: emptier.empty(flush=lambda: flush(case)))
        yield
    with django_db_blocker.unblock():
        connection.close()
        databases.drop(str(connection.settings_dict["NAME"]))


@pytest.fixture
def own_database(django_db_setup: None, tmp_path: Path) -> Iterator[str]:
    """Return the address of a migrated, empty database for processes that the test starts."""
    from tests import databases

    with databases.own_database(tmp_path) as url:
        yield url


@pytest.fixture
def older_database(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """Let the test migrate a database of version 0.1.0 by itself."""
    from tests import databases

    with databases.older_database(tmp_path):
        yield


@pytest.fixture
def use_executor() -> Iterator[Callable[[Any], None]]:
    """Return how a test has runs of rules and judges worked through by an executor of its own."""
    from judging.models import Run, RunKind
    from judging.services import registries

    standing = registries.executor_for(Run(kind=RunKind.GRADING))
    yield lambda executor: registries.register(RunKind.GRADING, lambda: executor)
    registries.register(RunKind.GRADING, lambda: standing)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of shared test data; skip where this checkout has none."""
    folder = Path(os.environ.get("EVALSITE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"shared test data not found at {folder}; set EVALSITE_SHARED_DATA to use it")
    return folder
