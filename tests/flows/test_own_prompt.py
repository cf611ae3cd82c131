"""A researcher pastes a published prompt with two examples, is told what is wrong with it, and tries it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.fake_llm.fixture import FakeLLM
from tests.flows.conftest import LiveSite, SignIn

pytestmark = pytest.mark.flow

PROMPT = """You are comparing a submitted answer to an expert answer.
Question: {{ question }}
Expert answer: {{ reference }}
Submitted answer: {{ response }}
Reason step by step, then end with "GRADE: " and one letter: C (correct), P (partly) or I (incorrect).
[[fake:reply=The submission leaves one thing out. GRADE: P]]"""
EXAMPLES = """- {question: What is 2+2?, reference: "4", response: Four., reply: "It says four. GRADE: C"}
- {question: What is 2+2?, reference: "4", response: Five., reply: "It says five. GRADE: I"}"""


def test_a_pasted_prompt_is_corrected_by_line_and_tried(site: LiveSite, signed_in: SignIn, fake_llm: FakeLLM) -> None:
    fake_llm.config(latency=1)
    site.command("endpoint", "create", "--name", "Expert model", "--base-url", fake_llm.url, "--model", "expert")
    page = signed_in("demo-researcher")
    page.goto("/judges/new/")
    page.get_by_role("link", name="Own prompt", exact=True).click()
    page.get_by_label("Name", exact=True).fill("Expert grade")
    page.get_by_label("Endpoint").select_option(label="Expert model")
    page.get_by_label("System text").fill("")
    page.get_by_label("Examples").fill(EXAMPLES)
    page.get_by_label("Form of the reply").select_option(label="at the end of the last line")
    page.get_by_label("Labels").fill("C = 1\nP = 0.5\nI = 0")
    preview = page.locator("#judge-preview")
    page.get_by_role("textbox", name="Prompt").fill("Grade {answer} beside {expert_view}.")
    expect(preview).to_contain_text("{answer} will be {{ response }}")
    expect(preview).to_contain_text("{expert_view} is not known here. Say what it is.")
    page.get_by_role("textbox", name="Prompt").fill(PROMPT.replace("reference", "expert | trim"))
    expect(preview).to_contain_text("There is no variable 'expert'")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("main")).to_contain_text("Line 3 of the prompt: There is no variable 'expert'")
    page.get_by_role("textbox", name="Prompt").fill(PROMPT)
    expect(preview).to_contain_text("You are comparing a submitted answer to an expert answer.")
    page.get_by_role("button", name="Save").click()

    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("main")).to_contain_text("Parsed verdict")
    expect(page.get_by_role("main")).to_contain_text("The submission leaves one thing out.")

    refused = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
    assert signed_in.complaints == [refused]  # the unknown variable
