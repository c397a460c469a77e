"""The commands of the program that convert and check, as functions."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from . import _options
from ._errors import LossWarning
from ._flags import Path, Paths, arguments_of, paths_of
from ._results import CommitResult, ConvertResult, PlanResult, Result, StatusResult, SubmitResult, TaskResult, VerifyResult
from ._run import Ending, Progress, call

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R", bound=Result)
#: A function that is called about once a second, in a thread of its own; or True for a bar of tqdm.
OnProgress = Callable[[Progress], None] | bool | None


def convert(inputs: Paths | None = None, dest: Path | None = None, *, progress: OnProgress = None, **options: Unpack[_options.ConvertOptions]) -> ConvertResult:
    """Convert Avro files to an output at dest.

    inputs and dest may be in the job file that config names instead. To see a plan without work,
    use plan. Issues a LossWarning if damage took rows that on_damage allowed to lose.
    """
    return _run(ConvertResult, "convert", _places(inputs, dest), progress, options)


def submit(inputs: Paths | None = None, dest: Path | None = None, *, progress: OnProgress = None, **options: Unpack[_options.SubmitOptions]) -> SubmitResult:
    """Convert on a Hadoop cluster, as convert does on this machine."""
    return _run(SubmitResult, "submit", _places(inputs, dest), progress, options)


def plan(inputs: Paths | None = None, dest: Path | None = None, *, progress: OnProgress = None, **options: Unpack[_options.PlanOptions]) -> PlanResult:
    """Write a plan of a conversion to the file that output names."""
    return _run(PlanResult, "plan", _places(inputs, dest), progress, options)


def task(plan: Path, *, progress: OnProgress = None, **options: Unpack[_options.TaskOptions]) -> TaskResult:
    """Run tasks of a plan: those with the numbers task, or those of a share."""
    return _run(TaskResult, "task", [f"--plan={os.fspath(plan)}"], progress, options)


def commit(plan: Path, *, progress: OnProgress = None, **options: Unpack[_options.CommitOptions]) -> CommitResult:
    """Publish what the tasks of a plan made. Issues a LossWarning as convert does."""
    return _run(CommitResult, "commit", [f"--plan={os.fspath(plan)}"], progress, options)


def verify(paths: Paths, *, progress: OnProgress = None, **options: Unpack[_options.VerifyOptions]) -> VerifyResult:
    """Check every block, and with against compare all rows with Avro files.

    Raises DifferenceError, whose result has what was found.
    """
    return _run(VerifyResult, "verify", paths_of(paths), progress, options)


def status(dest: Path, **options: Unpack[_options.StatusOptions]) -> StatusResult:
    """Return what a destination holds, and which run works on it."""
    return _run(StatusResult, "status", paths_of(dest), None, options)


def _places(inputs: Paths | None, dest: Path | None) -> list[str]:
    if (inputs is None) != (dest is None):
        raise TypeError("give both inputs and dest, or neither if the job file has them")
    return [] if inputs is None or dest is None else [*paths_of(inputs), *paths_of(dest)]


def _run(kind: type[R], command: str, arguments: list[str], progress: OnProgress, options: Mapping[str, Any]) -> R:
    if "dry_run" in options:
        raise TypeError("dry_run is not an option: use plan or status")
    if progress is True:
        with _Bar() as bar:
            ending = call([command, *arguments_of(options), *arguments], progress=bar.show)
    else:
        ending = call([command, *arguments_of(options), *arguments], progress=progress or None)
    if ending.lossy:
        warnings.warn(ending.document["error"]["message"], LossWarning, stacklevel=3)
    else:
        ending.check()
    return _result(kind, ending)


def _result(kind: type[R], ending: Ending) -> R:
    document = ending.document
    found = {**(document.get("result") or {}), **{f.name: document.get(f.name) for f in fields(Result)}, "raw": document}
    return kind(**{f.name: found[f.name] for f in fields(kind) if f.name in found})


class _Bar:
    """A bar of tqdm that shows percents. Raises ImportError if there is no tqdm."""

    def __enter__(self) -> _Bar:
        try:
            from tqdm.auto import tqdm
        except ImportError as e:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from e
        self._bar = tqdm(total=100, unit="%")
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def show(self, progress: Progress) -> None:
        self._bar.set_postfix_str(f"{progress.rows:,} rows", refresh=False)
        self._bar.update((progress.percent or 0) - self._bar.n)


def _document(function: Callable[..., Any], options: type) -> None:
    """Add the flags of a command to the documentation of its function."""
    own, flags, common = (inspect.cleandoc(of.__doc__ or "") for of in (function, options, _options.OpenOptions))
    function.__doc__ = f"{own}\n\n{flags}\n\n{common}\n"


for _function, _flags in (
    (convert, _options.ConvertOptions),
    (submit, _options.SubmitOptions),
    (plan, _options.PlanOptions),
    (task, _options.TaskOptions),
    (commit, _options.CommitOptions),
    (verify, _options.VerifyOptions),
    (status, _options.StatusOptions),
):
    _document(_function, _flags)
