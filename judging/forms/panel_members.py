"""The field of a panel's members: a judge and a weight in each row, or the lines that a file and a command give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from judging.judges.judge_kinds import members_from_lines
from judging.judges.registry import KINDS
from judging.selectors.judges.panel_members import possible_members

FEWEST_ROWS, SPARE_ROWS = 3, 2


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One row as the page shows it."""

    number: int
    judge: str
    weight: str


class PanelMembersWidget(forms.Textarea):
    """Rows of a judge and a weight; a form that was not sent by the page holds the lines themselves."""

    template_name = "judging/_panel_members.html"
    use_fieldset = True

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        members = members_from_lines(value or "")
        empty = max(FEWEST_ROWS - len(members), SPARE_ROWS)
        found = [MemberRow(number, entry["judge"], f"{entry['weight']:g}") for number, entry in enumerate(members, 1)]
        found += [MemberRow(len(found) + number, "", "1") for number in range(1, empty + 1)]
        judges = _by_kind()
        offered = {judge for names in judges.values() for judge in names}
        context |= {"rows": found, "judges": judges, "named": {entry["judge"] for entry in members} - offered}
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        if name in data or not hasattr(data, "getlist"):
            return data.get(name)
        pairs = zip(data.getlist(f"{name}_judge"), data.getlist(f"{name}_weight"), strict=False)
        return "\n".join(f"{judge} = {weight.strip() or '1'}" for judge, weight in pairs if judge)

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}_judge" not in data


class PanelMembersField(forms.CharField):
    """The members of a panel as lines of NAME or NAME = WEIGHT."""

    widget = PanelMembersWidget


def _by_kind() -> Mapping[str, list[str]]:
    """Return the names of the judges that may be members under the title of their kind."""
    found: dict[str, list[str]] = {}
    for name, kind in possible_members().values_list("name", "kind"):
        found.setdefault(KINDS[kind].title, []).append(name)
    return found
