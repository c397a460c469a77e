"""Commands return what the program reports, and say how far they are."""

from __future__ import annotations

import datetime
import logging
import subprocess
from pathlib import Path

import pytest
from conftest import MAIL

import rowtocol
from rowtocol._flags import arguments_of


def test_flags() -> None:
    options = {
        "row_group_size": "64MiB",
        "memory": 1 << 30,
        "overwrite": True,
        "strict": False,
        "codec": ["null", "body=snappy"],
        "schema": Path("a.avsc"),
        "keep_replaced": datetime.timedelta(hours=1, milliseconds=1),
        "since": datetime.date(2026, 1, 31),
        "index": None,
    }
    assert arguments_of(options) == (
        "--row-group-size=64MiB",
        "--memory=1073741824",
        "--overwrite=true",
        "--strict=false",
        "--codec=null",
        "--codec=body=snappy",
        "--schema=a.avsc",
        "--keep-replaced=3600001000us",
        "--since=2026-01-31",
    )


@pytest.mark.parametrize("code", [0, 3, 8])
def test_other_program(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not rowtocol has done nothing, whatever its exit code."""
    fake = tmp_path / "rowtocol"
    fake.write_text(f"#!/bin/sh\nexit {code}\n")
    fake.chmod(0o755)
    monkeypatch.setattr("rowtocol._run.find_program", lambda: str(fake))
    with pytest.raises(rowtocol.RowtocolError, match=f"exit code {code} and reported nothing") as raised:
        rowtocol.convert(MAIL, tmp_path / "mail.columns")
    assert raised.value.code == (code or 2)


def test_conversion(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="rowtocol")
    dest = tmp_path / "mail.columns"
    made = rowtocol.convert(MAIL, dest, codec=["null", "body=snappy"], memory=1 << 28, keep_replaced=datetime.timedelta(hours=1))
    assert (made.exit, made.status, made.rows, made.inputs, made.nothing) == (0, "done", 600, 2, False)
    assert made.raw["result"]["rows"] == made.rows
    assert [r.message for r in caplog.records] == ["convert begins", "convert ended"]
    assert caplog.records[0].rowtocol["memory"] == 1 << 28  # type: ignore[attr-defined]
    again = rowtocol.convert(MAIL, dest, codec=["null", "body=snappy"], exit_nothing=99)
    assert (again.exit, again.status, again.nothing) == (99, "nothing", True)
    assert rowtocol.verify(dest, against=MAIL, require_complete=True).rows == 600
    held = rowtocol.status(dest)
    assert held.output is not None
    assert held.output["rows"] == 600
    assert held.lock is None
    with pytest.raises(rowtocol.DestinationError, match="codec"):
        rowtocol.convert(MAIL, dest)


def test_steps(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    planned = rowtocol.plan([MAIL / "archive-1.avro"], tmp_path / "out", output=file)
    assert planned.tasks == 1
    with pytest.raises(rowtocol.StorageError):
        rowtocol.commit(file)
    assert rowtocol.task(file, task=[0]).tasks == [0]
    assert rowtocol.commit(file).rows == rowtocol.open(tmp_path / "out").count()


def test_job_file(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(f"input: [{MAIL}]\ndest: {tmp_path / 'out'}\n")
    assert rowtocol.convert(config=job).rows == 600
    with pytest.raises(TypeError, match="give both"):
        rowtocol.convert(MAIL)
    with pytest.raises(rowtocol.UsageError, match="did you mean --codec"):
        rowtocol.convert(MAIL, tmp_path / "b", codek="null")  # type: ignore[call-arg]


def test_losses_are_a_warning(tmp_path: Path) -> None:
    data = bytearray((MAIL / "archive-1.avro").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "a.avro").write_bytes(data)
    with pytest.raises(rowtocol.InputError) as raised:
        rowtocol.convert(tmp_path / "a.avro", tmp_path / "out")
    assert raised.value.file == str(tmp_path / "a.avro")
    assert raised.value.offset
    with pytest.warns(rowtocol.LossWarning):
        made = rowtocol.convert(tmp_path / "a.avro", tmp_path / "out", on_damage="skip")
    assert made.exit == 8
    assert made.losses
    assert made.rows > 0


def test_difference(tmp_path: Path) -> None:
    rowtocol.convert(MAIL / "archive-1.avro", tmp_path / "out")
    with pytest.raises(rowtocol.DifferenceError) as raised:
        rowtocol.verify(tmp_path / "out", against=MAIL / "archive-2.avro")
    assert raised.value.result is not None
    assert raised.value.result["against"]


def test_progress(big_path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="rowtocol")
    heard: list[rowtocol.Progress] = []

    def hear(progress: rowtocol.Progress) -> None:
        heard.append(progress)
        raise SystemExit("a callback that fails does no harm")

    source = big_path.with_name("big.avro")
    with pytest.raises(rowtocol.StorageError, match="--max-runtime"):
        rowtocol.convert(source, tmp_path / "out", codec="bzip2", workers=1, progress=hear, max_runtime="4s")
    assert len(heard) > 1
    assert any(0 < (p.percent or 0) <= 100 for p in heard)
    assert "the progress callback failed" in caplog.text


def test_bar(tmp_path: Path, big_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rowtocol.verify(big_path, progress=True)
    assert "/100" in capfd.readouterr().err


def test_program_on_the_path() -> None:
    assert subprocess.run(["rowtocol", "version"], capture_output=True, text=True, check=True).stdout.startswith("rowtocol ")
