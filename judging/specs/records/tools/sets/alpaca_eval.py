"""AlpacaEval and AlpacaFarm: outputs of a model, and annotations of two outputs."""

from __future__ import annotations

from judging.specs.records.neutral import CaseInput, Giver, ResponseRow
from judging.specs.records.parts import Part
from judging.specs.records.shapes import JUDGMENTS, Shape
from judging.specs.records.tool_rows import Opinion, Reply, Told, ToolRow
from judging.specs.records.tools.sets.comparisons import asks, pair, side, signed
from judging.specs.records.values import as_number, as_text, details

_OF_THE_CASE = ("dataset", "datasplit", "split", "subset", "category", "source", "language")
_TIE = 1.5  # of preferences from 1 to 2; older files have 0


def asked(row: ToolRow) -> str:
    """Return an instruction with its input below it."""
    return "\n\n".join(filter(str.strip, (row.text("instruction"), row.text("input"))))


def _case(row: ToolRow) -> CaseInput:
    kept = details({name: row.get(name) for name in _OF_THE_CASE}, ())
    return CaseInput(row.id("id", "idx", "instruction_id"), asked(row), metadata=kept)


@Shape(
    "alpaca-eval-outputs",
    "AlpacaEval: outputs of a model",
    lambda part: part.has("instruction", "output", "generator"),
    "rows with instruction, output and generator",
    export="Take model_outputs.json from the folder of the model below results.",
    comes="Each instruction is a case and each output a response of its generator, also of several models.",
).rows
def outputs(row: ToolRow) -> Told:
    """Return a case and its output."""
    case, reply = _case(row), ResponseRow(row.text("generator"), row.text("output"))
    reply.metadata = row.rest()
    return Told(case, [Reply(reply, failure="the output is null" if row.fields.get("output") is None else "")])


def _are_annotations(part: Part) -> bool:
    numbers = {as_number(value) for value in part.values("preference")} - {None}
    is_on_scale = all(number is not None and (number == 0 or 1 <= number <= 2) for number in numbers)
    return part.has("instruction", "output_1", "output_2", "preference") and bool(numbers) and is_on_scale


@Shape(
    "alpaca-eval-annotations",
    "AlpacaEval: annotations",
    _are_annotations,
    "rows with instruction, output_1, output_2 and preference",
    JUDGMENTS,
    keys=("instruction", "output_1", "output_2", "preference"),
    export="Take annotations.json from the folder of the annotator below results.",
    comes="Both outputs are responses; a preference below 1.5 is for the first, above for the second, 1.5 a tie.",
    stays="Annotations without a preference are counted and not stored.",
).rows
def preferences(row: ToolRow) -> Told:
    """Return two outputs and whose is better; its strength is the weight of the second."""
    case, value = _case(row), row.number("preference")
    a, b = pair(
        *(side(f"output_{n}", row.fields.get(f"output_{n}"), row.text(f"generator_{n}").strip()) for n in (1, 2))
    )
    asks({"prompt": case.prompt}, case.id)
    judge, person = row.get("annotator"), row.id("annotator", "annotator_index", "annotator_id")
    giver = Giver.JUDGE if judge and not isinstance(judge, int | float) else Giver.PERSON if person else Giver.GOLD
    by = as_text(judge) if giver is Giver.JUDGE else person
    value = _TIE if value == 0 else value
    if value is None or not 1 <= value <= 2:
        row.unread(by or "the annotator")
        return Told(case, [a, b])
    opinion = Opinion(signed(value - _TIE, first_is_positive=False), giver, by, strength=round(value - 1, 9))
    opinion.metadata = row.rest("preference", "output_1", "output_2")
    return Told(case, [a, b], [opinion])
