"""Paths and keyword arguments as arguments of the program."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from typing import Any

Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]


def paths_of(paths: Paths) -> list[str]:
    """Return a path or several as arguments that the program does not take for flags or standard input."""
    names = (os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths))
    return ["./" + n if n.startswith("-") else n for n in names]


def arguments_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the flags for keyword arguments: row_group_size="64MiB" is --row-group-size=64MiB.

    None leaves a flag out. A sequence repeats a flag. The program judges names and values.
    """
    arguments: list[str] = []
    for name, value in options.items():
        values = value if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]
        for v in values:
            if v is not None:
                arguments.append(f"--{name.replace('_', '-')}={_text(v)}")
    return tuple(arguments)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(microseconds=1)}us"
    if isinstance(value, datetime.datetime):
        return value.astimezone().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
