"""Datasets that the tests read."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fastavro
import pytest

import rowtocol

ROOT = Path(__file__).parents[2]
MAIL = ROOT / "testdata" / "mail"
ROWS = 300_000
# A condition that no row meets, which the program needs more than ten seconds to find out.
SLOW = " or ".join(f'body matches "([a-f]+[0-9]+)+{end}([a-f]*[0-9]*)*$"' for end in "ghijkl")


@pytest.fixture(scope="session")
def mail(tmp_path_factory: pytest.TempPathFactory) -> rowtocol.Dataset:
    dest = tmp_path_factory.mktemp("mail") / "mail.columns"
    rowtocol.convert(MAIL, dest, index=["id", "folder,id"])
    return rowtocol.open(dest)


@pytest.fixture(scope="session")
def big_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 MB of rows, in several row groups."""
    dir = tmp_path_factory.mktemp("big")
    schema = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}, {"name": "body", "type": "string"}]}
    texts = [hashlib.sha512(bytes([i])).hexdigest() * 3 for i in range(251)]
    with open(dir / "big.avro", "wb") as f:
        fastavro.writer(f, schema, ({"id": i, "body": texts[i % 251]} for i in range(ROWS)), codec="snappy")
    rowtocol.convert(dir / "big.avro", dir / "big.columns", row_group_size="8MiB", codec="null")
    return dir / "big.columns"


@pytest.fixture
def damaged(big_path: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the large dataset that is damaged in its last part, and that part."""
    copy = tmp_path / "damaged.columns"
    shutil.copytree(big_path, copy)
    part = max(copy.glob("part-*"))
    with open(part, "r+b") as f:
        f.seek(part.stat().st_size * 3 // 4)
        f.write(b"damage")
    return copy, part


def programs_of(pid: int) -> list[int]:
    """Return the runs of the program that a process started."""
    found = subprocess.run(["pgrep", "-P", str(pid), "-x", "rowtocol"], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def runs(pid: int) -> bool:
    """Report whether a process has not ended, though its new parent may not have noticed its end."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_until(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(autouse=True)
def no_programs_left() -> Iterator[None]:
    yield
    assert wait_until(lambda: not programs_of(os.getpid()), 5)
