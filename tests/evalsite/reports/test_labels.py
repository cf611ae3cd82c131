"""Imported labels: read by browser or command, reported like a queue's answers, to six places."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.base.rows import BadInput
from evalsite.reports.services.people import AgreementLabel, PeopleAgreement, compute_label_agreement
from evalsite.review.models import ImportedLabel, LabelledItem, LabelTable
from tests import factories

pytestmark = pytest.mark.django_db
SIX_PLACES = 1e-6
FIVE_PLACES = 1e-5  # irrCAC prints five places
LONG = b"item,rater,label,scenario\n1,ann,a,code\n1,ben,a,code\n2,ann,b,letters\n2,ben,a,letters\n"
FIGURES = {
    "fleiss_kappa": "fleiss",
    "fleiss_kappa_complete_items": "fleiss",
    "fleiss_generalised_missing": "fleiss",
    "scott_pi": "fleiss",
    "Po": "percent",
    "po": "percent",
    "mean_pairwise_agreement_complete_items": "percent",
    "krippendorff_alpha_nominal": "alpha_nominal",
    "gwet_ac1": "ac1",
    "randolph": "brennan_prediger",
    "randolph_kappa_complete_items": "brennan_prediger",
    "brennan_prediger": "brennan_prediger",
}


@pytest.fixture
def researcher() -> Client:
    client = Client()
    client.force_login(factories.user("rosa", Role.RESEARCHER))
    return client


def send(client: Client, data: bytes, file_name: str = "labels.csv", **fields: str) -> Any:
    """Send a file and confirm it at once; `look` only has it checked."""
    data_sent = {"file": SimpleUploadedFile(file_name, data)} | ({} if fields.pop("look", "") else {"save": "1"})
    return client.post(reverse("reports:labels-create"), data_sent | fields)


def table_of(rows: list[list[Any]], labels: list[Any], client: Client) -> PeopleAgreement:
    """Import a wide table through the page and return the content behind its report."""
    width = max(len(row) for row in rows)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["item", *(f"rater {number}" for number in range(1, width + 1))])
    for number, row in enumerate(rows, start=1):
        writer.writerow([number, *("" if cell is None else cell for cell in row), *[""] * (width - len(row))])
    names = ",".join(f"rater {number}" for number in range(1, width + 1))
    scale = ",".join(str(label) for label in labels)
    answer = send(client, text.getvalue().encode(), scale=scale, rater_columns=names, name="Vector")
    assert answer.status_code == 302, answer.content.decode()
    slug = answer["Location"].rstrip("/").rpartition("/")[2]
    return compute_label_agreement(LabelTable.objects.get(slug=slug).pk, {}).content


def rows_of(vector: dict[str, Any]) -> tuple[list[list[Any]], list[Any]]:
    """Return the rows and the declared scale of any kind of vector."""
    if vector["kind"] == "count_table":
        scale = list(range(len(vector["table"][0])))
        return [
            [label for label, n in zip(scale, row, strict=True) for _ in range(n)] for row in vector["table"]
        ], scale
    if vector["kind"] == "contingency":
        scale = list(range(len(vector["table"])))
        return [[a, b] for a, row in enumerate(vector["table"]) for b, n in enumerate(row) for _ in range(n)], scale
    return vector["rows"], vector["labels"]


def compared(content: PeopleAgreement, published: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    values = {row.key: row.value for row in content.figures}
    names = [name for name in published if name in FIGURES and not isinstance(published[name], dict)]
    got = {name: values[FIGURES[name]] for name in names}
    places = {name: FIVE_PLACES if name == "brennan_prediger" else SIX_PLACES for name in names}
    return got, {
        name: None if published[name] is None else pytest.approx(published[name], abs=places[name]) for name in names
    }


BY_MARGINALS = ("fleiss_generalised_missing", "gwet_ac1")


def without_singles(
    rows: list[list[Any]], scale: list[Any], researcher: Client, published: dict[str, Any]
) -> dict[str, Any]:
    """Return what stands in place of published figures that count items of one annotation among the labels used.

    Here such items enter no figure, so these equal the figures of the table without them.
    """
    paired = [row for row in rows if sum(cell is not None for cell in row) != 1]
    names = [name for name in BY_MARGINALS if name in published]
    if len(paired) == len(rows) or not paired or not names:
        return {}
    used = [place for place in range(max(map(len, paired))) if any(row[place] is not None for row in paired)]
    content = table_of([[row[place] for place in used] for row in paired], scale, researcher)
    values = {row.key: row.value for row in content.figures}
    return {name: values[FIGURES[name]] for name in names}


@pytest.mark.shared_data
def test_pandalm_by_browser_gives_the_published_figures(researcher: Client, shared_data: Path) -> None:
    published = json.loads((shared_data / "statistics/pandalm_expected.json").read_text())
    data = (shared_data / "statistics/pandalm_labels.csv").read_bytes()

    answer = send(researcher, data, "pandalm_labels.csv", scale="0,1,2")
    page = researcher.get(answer["Location"]).content.decode()

    table = LabelTable.objects.get()
    content = compute_label_agreement(table.pk, {}).content
    got, expected = compared(content, published)
    assert len(got) == 4
    assert got == expected
    values = {row.key: row.value for row in content.figures}
    others = ("gwet_ac1", "irrcac_fleiss", "irrcac_krippendorff", "irrcac_conger", "brennan_prediger")
    keys = ("ac1", "fleiss", "alpha_nominal", "conger", "brennan_prediger")
    assert [values[key] for key in keys] == pytest.approx(
        [published[name]["value"] for name in others], abs=FIVE_PLACES
    )
    pairs = {f"{pair.first[-1]}-{pair.second[-1]}": pair for pair in content.pairs}
    kappas = {name: pair.kappa.value for name, pair in pairs.items()}
    assert kappas == pytest.approx(published["cohen_pairwise"], abs=SIX_PLACES)
    shares = {name: pair.percent.value for name, pair in pairs.items()}
    assert shares == pytest.approx(published["agreement_pairwise"], abs=SIX_PLACES)
    assert {row.value: row.n for row in content.summary.label_counts} == published["label_counts"]
    assert (table.item_count, content.summary.unanimous) == (999, published["unanimous_items"])
    for figure in ("0.864", "92.0%", "0.886", "0.852"):  # Fleiss and alpha, percent, AC1; a pair by two places
        assert figure in page or figure[:4] in page, figure


@pytest.mark.shared_data
def test_every_vector_through_the_site(researcher: Client, shared_data: Path) -> None:
    vectors = json.loads((shared_data / "statistics/iaa_vectors.json").read_text())
    edges = vectors.pop("edge_cases")
    vectors.pop("_meta")
    checked = 0
    for name, vector in vectors.items():
        content = table_of(*rows_of(vector), researcher)
        got, expected = compared(content, vector)
        expected |= without_singles(*rows_of(vector), researcher, expected)
        assert got == expected, name
        alphas = {f"alpha_{metric}": value for metric, value in vector.get("krippendorff_alpha", {}).items()}
        values = {row.key: row.value for row in content.figures}
        assert {key: values[key] for key in alphas} == pytest.approx(alphas, abs=SIX_PLACES), name
        if "cohen_kappa" in vector:
            assert content.pairs[0].kappa.value == pytest.approx(vector["cohen_kappa"], abs=SIX_PLACES)
        for weights in ("linear", "quadratic"):
            if weights in vector and getattr(content.pairs[0], weights) is not None:
                assert getattr(content.pairs[0], weights).value == pytest.approx(vector[weights], abs=SIX_PLACES)
        checked += len(got) + len(alphas)
    for name, case in edges.items():
        if not any(cell is not None for row in case["rows"] for cell in row):
            continue  # a file without any label is refused, see below
        content = table_of(case["rows"], case["labels"], researcher)
        got, expected = compared(content, case["formula (null = undefined 0/0)"])
        expected |= without_singles(case["rows"], case["labels"], researcher, expected)
        assert got == expected, name
        checked += len(got)
    assert checked > 80


def test_long_table_groups_by_scenario_and_links_items(researcher: Client) -> None:
    page = researcher.get(send(researcher, LONG)["Location"]).content.decode()

    disputed = LabelledItem.objects.get(key="2")
    assert reverse("reports:labels-item", args=[disputed.pk]) in page
    assert "letters" in page
    item_page = researcher.get(reverse("reports:labels-item", args=[disputed.pk])).content.decode()
    assert "ann" in item_page
    assert "ben" in item_page


def test_confusion_of_two_raters_shows_the_items(researcher: Client) -> None:
    send(researcher, LONG)
    table, item = LabelTable.objects.get(), LabelledItem.objects.get(key="2")

    url = reverse("reports:labels-confusion", args=[table.slug])
    response = researcher.get(url, {"first": "ann", "second": "ben"})
    cell = {"show": "pair", "first": "ann", "second": "ben", "one": "b", "other": "a"}
    listed = researcher.get(reverse("reports:labels-items", args=[table.slug]), cell)

    assert response.context["content"].counts == [[1, 0], [1, 0]]
    assert [row["pk"] for row in listed.context["rows"]] == [item.pk]
    assert researcher.get(url, {"first": "ann", "second": "nobody"}).status_code == 404


def test_looking_first_stores_nothing(researcher: Client) -> None:
    page = send(researcher, LONG, look="1").content.decode()

    assert "labels.csv" in page
    assert LabelTable.objects.count() == 0


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"item,rater,label\n1,ann,a\n1,ann,b\n", "&#x27;ann&#x27; labelled the same item at line 2"),
        (b"x1,x2\n1,ann\n", "which column holds the labels, and which the id of the item?"),
        (b"item,rater,label\n1,ann,\n", "There is no label in this table"),
        (b"item,rater,label\n,ann,a\n", "does not say which case it is about"),
    ],
)
def test_bad_files_are_refused_with_their_place_and_leave_nothing(
    researcher: Client, data: bytes, sentence: str
) -> None:
    page = send(researcher, data).content.decode()

    assert sentence in page
    assert (LabelTable.objects.count(), ImportedLabel.objects.count()) == (0, 0)


def test_labels_by_command_are_read_and_a_check_stores_nothing(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(LONG)

    said = ("--file", str(path), "--name", "Pilot", "--scale", "a,b,c", "--json")
    call_command("labels", "check", *said)
    dry = json.loads(capsys.readouterr().out)
    assert (dry["labels"], LabelTable.objects.count()) == (4, 0)

    call_command("labels", "create", *said)
    assert json.loads(capsys.readouterr().out)["table"] == "pilot"
    assert ImportedLabel.objects.count() == 4
    with pytest.raises(BadInput, match="not on the declared scale"):
        call_command("labels", "create", "--file", str(path), "--scale", "a,c")


def test_raters_alike_are_taken_for_two_by_the_option_that_the_refusal_names(tmp_path: Path) -> None:
    """`labels create` said what to write after `--renames`, which it did not know."""
    path = tmp_path / "labels.csv"
    path.write_bytes(b"item,rater,label\n1,Ann,a\n1,ann,b\n2,Ann,a\n2,ann,a\n")

    with pytest.raises(BadInput) as refusal:
        call_command("labels", "create", "--file", str(path))
    call_command("labels", "create", "--file", str(path), "--renames", "ann=ann")

    assert '--renames "ann=ann"' in str(refusal.value)
    assert list(ImportedLabel.objects.order_by("pk").values_list("rater", "label")) == [
        ("Ann", "a"),
        ("ann", "b"),
        ("Ann", "a"),
        ("ann", "a"),
    ]


def test_labels_by_command_take_one_file_and_drop_none_in_silence(tmp_path: Path) -> None:
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for path in paths:
        path.write_bytes(LONG)

    with pytest.raises(BadInput, match=r"^--file: This takes one file, not 2: first\.csv, second\.csv\. "):
        call_command("labels", "create", "--file", *map(str, paths))
    assert LabelTable.objects.count() == 0


def test_exported_labels_import_again_unchanged(researcher: Client) -> None:
    send(researcher, LONG, name="First")
    first = LabelTable.objects.get()
    url = reverse("reports:labels-export", args=[first.slug, "answers", "csv"])
    exported = b"".join(researcher.get(url))

    send(researcher, exported, name="Second")

    second = LabelTable.objects.exclude(pk=first.pk).get()
    again = b"".join(researcher.get(reverse("reports:labels-export", args=[second.slug, "answers", "csv"])))
    assert again == exported


def test_report_agreement_prints_what_the_page_of_a_label_table_shows(researcher: Client) -> None:
    send(researcher, LONG, name="Two nominal")
    table = LabelTable.objects.get()
    out = io.StringIO()

    call_command("report", "agreement", "--labels", table.slug, "--json", stdout=out)

    printed = json.loads(out.getvalue())
    assert printed["figures"] == [asdict(row) for row in compute_label_agreement(table.pk, {}).content.figures]
    assert printed["queue"] == {"slug": table.slug, "name": "Two nominal"}


def test_labels_page_says_why_an_interval_is_missing(researcher: Client) -> None:
    send(researcher, b"item,rater,label\n1,ann,a\n1,ben,b\n", name="Opposite")

    page = researcher.get(LabelTable.objects.get().get_absolute_url()).content.decode()

    assert "too few items" not in page
    assert page.count("One item has no interval.") >= 2


def test_labels_page_says_a_reason_of_many_figures_once(researcher: Client) -> None:
    send(researcher, b"item,rater,label\n1,ann,a\n2,ben,b\n", name="Apart")

    page = researcher.get(LabelTable.objects.get().get_absolute_url()).content.decode()

    words = re.findall(r'<td class="words">(.*?)</td>', page, re.DOTALL)
    reasons = [re.sub(r"<[^>]*>", "", word).strip() for word in words]
    assert len(reasons) >= 5
    assert reasons[1:] == ["for the same reason"] * (len(reasons) - 1)
    assert reasons[0] not in ("", "for the same reason")


def test_words_that_were_entered_in_order_are_an_ordinal_scale(researcher: Client) -> None:
    """Three raters, bad < ok < good; the values of alpha are those of the numbers 1, 2, 3."""
    rows = [["bad", "ok"], ["good", "good"], ["ok", "ok"], ["good", "ok"], ["bad", "bad"]]
    numbers = {"bad": 1, "ok": 2, "good": 3}

    words = table_of(rows, list(numbers), researcher)
    as_numbers = table_of([[numbers[cell] for cell in row] for row in rows], [1, 2, 3], researcher)

    assert words.labels == [
        AgreementLabel("bad", "bad", 0.0),
        AgreementLabel("ok", "ok", 0.5),
        AgreementLabel("good", "good", 1.0),
    ]
    found, expected = ({row.key: row.value for row in content.figures} for content in (words, as_numbers))
    assert words.leading == "alpha_ordinal"
    assert {key: found[key] for key in ("alpha_ordinal", "alpha_interval")} == {
        key: expected[key] for key in ("alpha_ordinal", "alpha_interval")
    }


def test_the_page_says_which_order_the_labels_have(researcher: Client) -> None:
    table_of([["bad", "ok"], ["good", "good"]], ["bad", "ok", "good"], researcher)

    page = researcher.get(reverse("reports:labels-detail", args=[LabelTable.objects.get().slug]))

    assert "Labels in order: bad (0), ok (0.5), good (1)" in page.content.decode()


def test_what_was_said_of_columns_is_kept_until_another_file_is_chosen(researcher: Client) -> None:
    data = b"item,ann,ben\n1,yes,no\n2,no,no\n3,yes,yes\n"
    menus = {"column": ["item", "ann", "ben"], "shown": ["case", "", ""]}
    chosen = menus | {"field": ["case", "labels of", "labels of"]}
    seen = researcher.post(reverse("reports:labels-create"), {"file": SimpleUploadedFile("t.csv", data)} | chosen)
    form = seen.context["form"]
    kept = {name: form[name].value() for name in ("kept", "kept_name", "columns")}
    other = SimpleUploadedFile("u.csv", LONG)

    changed = researcher.post(reverse("reports:labels-create"), kept | {"file": other})
    saved = researcher.post(reverse("reports:labels-create"), kept | {"save": "1"})

    assert kept["columns"] == ["labels of=ann", "labels of=ben"]
    assert all(f'name="columns" value="{said}"' in seen.content.decode() for said in kept["columns"])
    assert changed.context["form"]["columns"].value() == []
    assert saved["Location"] == LabelTable.objects.get().get_absolute_url()
