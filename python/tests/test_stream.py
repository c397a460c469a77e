"""A stream is bounded, raises what went wrong, and leaves no process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest
from conftest import ROWS, SLOW, programs_of, runs, wait_until

import rowtocol


def start(text: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_memory_is_flat(big_path: Path) -> None:
    script = f"""
import resource, rowtocol
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stream = rowtocol.open({str(big_path)!r}).to_batches()
rows = stream.read_next_batch().num_rows
before = peak()
rows += sum(b.num_rows for b in stream)
print(rows, (peak() - before) // 1024)
"""
    rows, grown = map(int, subprocess.check_output([sys.executable, "-c", script], text=True).split())
    assert rows == ROWS
    assert grown < 40  # MiB of 115


def test_damage(damaged: tuple[Path, Path]) -> None:
    copy, part = damaged
    data = rowtocol.open(copy)
    with pytest.raises(rowtocol.InputError) as raised:
        data.to_arrow()
    error = raised.value
    assert error.code == 3
    assert error.file == str(part)
    assert error.offset is not None
    assert error.offset < part.stat().st_size
    assert error.reason
    assert not error.retryable
    rows, stream = 0, data.to_batches()
    with pytest.raises(rowtocol.InputError):
        for batch in stream:
            rows += batch.num_rows
    assert 0 < rows < ROWS
    with pytest.raises(duckdb.Error, match=part.name):
        duckdb.sql("select count(*), sum(id) from data").fetchall()
    with pytest.raises(Exception, match=part.name):
        polars.DataFrame(data)
    with pytest.raises(Exception, match=part.name):
        data.to_polars().select(polars.col("body").n_unique()).collect()
    with pytest.raises(Exception, match=part.name):
        pa.table(data)


def test_truncation(big_path: Path, tmp_path: Path) -> None:
    shutil.copytree(big_path, tmp_path / "cut")
    part = max((tmp_path / "cut").glob("part-*"))
    os.truncate(part, part.stat().st_size - 1000)
    with pytest.raises(rowtocol.InputError, match=part.name):
        rowtocol.open(tmp_path / "cut").to_arrow()


@pytest.mark.parametrize("end", ["", "exec kill -9 $$", "exit 0"])
def test_stream_without_its_end(end: str, mail: rowtocol.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends early and reports nothing, as one that the kernel killed."""
    fake = tmp_path / "rowtocol"
    real = rowtocol._run.find_program()
    fake.write_text(f'#!/bin/sh\n"{real}" "$@" | head -c 40000\n{end}\n')
    fake.chmod(0o755)
    monkeypatch.setattr("rowtocol._run.find_program", lambda: str(fake))
    with pytest.raises(rowtocol.RowtocolError) as raised:
        mail.to_arrow()
    assert raised.value.code == (137 if "kill" in end else 2)


def test_duckdb_starts_one_stream(mail: rowtocol.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    stream = rowtocol.Dataset.to_batches

    def count(self: rowtocol.Dataset, *args: object, **options: object) -> object:
        started.append(options.get("limit"))
        return stream(self, *args, **options)

    monkeypatch.setattr(rowtocol.Dataset, "to_batches", count)
    assert duckdb.sql("select count(*) from mail").fetchall() == [(600,)]
    assert started.count(None) == 1


def test_replacement(big_path: Path, tmp_path: Path) -> None:
    shutil.copytree(big_path, tmp_path / "changing")
    os.rename(tmp_path / "changing" / "_SUCCESS", tmp_path / "changing" / "_lock")
    with pytest.raises(rowtocol.StorageError) as raised:
        rowtocol.open(tmp_path / "changing").to_arrow()
    assert raised.value.retryable


@pytest.mark.parametrize("batches", [0, 1])
def test_dropped_early(big_path: Path, batches: int) -> None:
    stream = rowtocol.open(big_path).to_batches()
    for _ in range(batches):
        stream.read_next_batch()
    assert programs_of(os.getpid())
    began = time.monotonic()
    del stream
    assert not programs_of(os.getpid())
    assert time.monotonic() - began < 2


def test_killed_reader_leaves_no_program(big_path: Path) -> None:
    """The program has nothing to write, and must notice by itself."""
    python = start(f"import rowtocol\nrowtocol.open({str(big_path)!r}, workers=1).to_batches(where={SLOW!r}).read_all()")
    assert wait_until(lambda: bool(programs_of(python.pid)), 20)
    (program,) = programs_of(python.pid)
    time.sleep(0.5)
    python.kill()
    python.communicate()
    assert runs(program)
    assert wait_until(lambda: not runs(program), 4)


def test_interrupt(big_path: Path) -> None:
    python = start(f"import rowtocol\nrowtocol.open({str(big_path)!r}, workers=1).count({SLOW!r})")
    assert wait_until(lambda: bool(programs_of(python.pid)), 20)
    (program,) = programs_of(python.pid)
    time.sleep(0.5)
    assert os.getpgid(program) == program  # Ctrl-C does not reach it by itself
    python.send_signal(signal.SIGINT)
    _, text = python.communicate(timeout=5)
    assert "KeyboardInterrupt" in text
    assert not runs(program)


def test_slow_condition_is_slow(big_path: Path) -> None:
    """Else the tests above show nothing."""
    python = start(f"import rowtocol\nrowtocol.open({str(big_path)!r}, workers=1).count({SLOW!r})")
    with pytest.raises(subprocess.TimeoutExpired):
        python.wait(6)
    python.kill()
    python.communicate()
