"""The results of the program's commands: the fields of the JSON object of --json.

TestPython of cmd/rowtocol wrote this file: change the program, and run
go test ./cmd/rowtocol -run TestPython -update.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """What all results have. raw is the whole JSON object."""

    run: str
    command: str
    exit: int
    status: str
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class ConvertResult(Result):
    """The result of rowtocol convert."""

    began: str = ""
    beside: list[dict[str, Any]] = field(default_factory=list, repr=False)
    bytes: int = 0
    bytes_per_second: int = 0
    converted: int = 0
    copies: int = 0
    dest: str = ""
    failed: int = 0
    files: int = 0
    index_bytes: int = 0
    inexact: dict[str, Any] = field(default_factory=dict)
    input_bytes: int = 0
    inputs: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list, repr=False)
    losses: list[dict[str, Any]] = field(default_factory=list, repr=False)
    nothing: bool = False
    partitions: list[dict[str, Any]] = field(default_factory=list, repr=False)
    parts: list[dict[str, Any]] = field(default_factory=list, repr=False)
    peak_memory: int = 0
    plan: str = ""
    resumed_tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    skipped: int = 0
    tasks: int = 0
    version: str = ""
    warnings: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class SubmitResult(Result):
    """The result of rowtocol submit."""

    application: str = ""
    began: str = ""
    beside: list[dict[str, Any]] = field(default_factory=list, repr=False)
    bytes: int = 0
    bytes_per_second: int = 0
    cancelled: bool = False
    converted: int = 0
    copies: int = 0
    counters: dict[str, Any] = field(default_factory=dict)
    dest: str = ""
    detached: bool = False
    failed: int = 0
    files: int = 0
    index_bytes: int = 0
    inexact: dict[str, Any] = field(default_factory=dict)
    input_bytes: int = 0
    inputs: int = 0
    job: str = ""
    left_out: list[dict[str, Any]] = field(default_factory=list, repr=False)
    losses: list[dict[str, Any]] = field(default_factory=list, repr=False)
    nothing: bool = False
    partitions: list[dict[str, Any]] = field(default_factory=list, repr=False)
    parts: list[dict[str, Any]] = field(default_factory=list, repr=False)
    peak_memory: int = 0
    plan: str = ""
    resumed_tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    skipped: int = 0
    tasks: int = 0
    tracking_url: str = ""
    version: str = ""
    warnings: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class PlanResult(Result):
    """The result of rowtocol plan."""

    began: str = ""
    bytes_per_second: int = 0
    file: str = ""
    finished: bool = False
    input_bytes: int = 0
    inputs: int = 0
    needs_overwrite: bool = False
    peak_memory: int = 0
    plan: str = ""
    row_groups: int = 0
    seconds: float = 0.0
    skipped: int = 0
    tasks: int = 0
    version: str = ""
    warnings: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class TaskResult(Result):
    """The result of rowtocol task."""

    began: str = ""
    bytes: int = 0
    bytes_per_second: int = 0
    done_before: int = 0
    files: int = 0
    input_bytes: int = 0
    peak_memory: int = 0
    plan: str = ""
    rows: int = 0
    seconds: float = 0.0
    tasks: list[int] = field(default_factory=list, repr=False)
    version: str = ""


@dataclass(frozen=True)
class CommitResult(Result):
    """The result of rowtocol commit."""

    began: str = ""
    bytes: int = 0
    bytes_per_second: int = 0
    copies: int = 0
    dest: str = ""
    files: int = 0
    index_bytes: int = 0
    inexact: dict[str, Any] = field(default_factory=dict)
    input_bytes: int = 0
    inputs: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list, repr=False)
    losses: list[dict[str, Any]] = field(default_factory=list, repr=False)
    nothing: bool = False
    parts: list[dict[str, Any]] = field(default_factory=list, repr=False)
    peak_memory: int = 0
    plan: str = ""
    resumed_tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    skipped: int = 0
    tasks: int = 0
    version: str = ""
    warnings: list[str] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class VerifyResult(Result):
    """The result of rowtocol verify."""

    against: dict[str, Any] | None = None
    began: str = ""
    bytes: int = 0
    bytes_per_second: int = 0
    changed: list[str] = field(default_factory=list, repr=False)
    complete: bool | None = None
    damage: list[dict[str, Any]] = field(default_factory=list, repr=False)
    files: int = 0
    holds: str | None = None
    indexes: int = 0
    inexact: dict[str, Any] | None = None
    input_bytes: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list, repr=False)
    losses: list[dict[str, Any]] = field(default_factory=list, repr=False)
    not_contained: list[dict[str, Any]] = field(default_factory=list, repr=False)
    not_named: list[str] = field(default_factory=list, repr=False)
    path: str = ""
    peak_memory: int = 0
    rows: int = 0
    seconds: float = 0.0
    unverified: list[str] = field(default_factory=list, repr=False)
    version: str = ""


@dataclass(frozen=True)
class StatusResult(Result):
    """The result of rowtocol status."""

    damage: str | None = None
    debris: list[dict[str, Any]] = field(default_factory=list, repr=False)
    dest: str = ""
    error: dict[str, Any] | None = None
    foreign: list[str] = field(default_factory=list, repr=False)
    increments: list[dict[str, Any]] = field(default_factory=list, repr=False)
    kept: list[dict[str, Any]] = field(default_factory=list, repr=False)
    left_alone: list[dict[str, Any]] = field(default_factory=list, repr=False)
    lock: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    outputs_below: list[str] = field(default_factory=list, repr=False)
    partitions: list[dict[str, Any]] = field(default_factory=list, repr=False)
    request: dict[str, Any] | None = None
    totals: dict[str, Any] = field(default_factory=dict)
    unfinished: list[dict[str, Any]] = field(default_factory=list, repr=False)
