"""The examples of docs/python.md and docs/analytics.md run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import MAIL, ROOT

import rowtocol
from rowtocol._errors import error_of


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(MAIL, tmp_path / "mail")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 7
    space: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), space)
    assert len(space["frame"]) == 13
    assert space["table"].num_rows == 100
    assert space["made"].rows == 600
    assert rowtocol.open("mail.steps").count() == 600


def test_analytics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rowtocol.convert(MAIL, "mail.columns")
    page = (ROOT / "docs" / "analytics.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page[page.index("## pandas") : page.index("## Spark")], re.DOTALL)
    assert len(blocks) == 3
    space: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/analytics.md", "exec"), space)
    assert len(space["frame"]) == 600


def test_page_names_everything() -> None:
    """The page has each public name, and each exception with its code."""
    page = (ROOT / "docs" / "python.md").read_text()
    results = {"Dataset", "Result", "RowtocolError"} | {n for n in rowtocol.__all__ if n.endswith("Result")}
    for name in set(rowtocol.__all__) - results:
        assert f"`{name}`" in page or f"rowtocol.{name}" in page, name
    listed = dict(re.findall(r"^\| (\d) \| `(\w+)` \|", page, re.MULTILINE))
    assert listed == {str(code): type(error_of(code, "", None, None)).__name__ for code in range(1, 10) if code != 8}
    for name in vars(rowtocol.Dataset):
        if not name.startswith("_") and name not in ("paths", "options"):
            assert f"`{name}" in page, name
