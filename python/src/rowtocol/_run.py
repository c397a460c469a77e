"""Runs of the program: the only module that starts processes.

A Run starts the program, hands its log to the logger "rowtocol" or to a callback and its
progress to another, and ends it. All other modules call the program through a Run.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import TracebackType
from typing import IO, Any

from ._errors import error_of

logger = logging.getLogger("rowtocol")

# The program ends within 8 seconds of a signal.
_STOP_SECONDS = 10
_PIPE_BYTES = 1 << 20
_DEFECT, _LOSSES, _KILLED = 2, 8, 128 + signal.SIGKILL
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux, which fcntl names since Python 3.10.1
_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}


#: A function that takes a line of the log: its level, its message, and the other fields.
Log = Callable[[int, str, dict[str, Any]], None]


@dataclass(frozen=True)
class Progress:
    """How far a run is. A figure that the program does not know is None."""

    rows: int = 0
    bytes_read: int = 0
    percent: int | None = None
    tasks_done: int | None = None
    tasks: int | None = None
    bytes_per_second: int | None = None
    seconds: int | None = None
    seconds_left: int | None = None


@dataclass(frozen=True)
class Ending:
    """The end of a run: its exit code, and its final JSON object."""

    code: int
    document: dict[str, Any]
    text: str = ""  # the last lines of standard error that are not JSON

    @property
    def lossy(self) -> bool:
        """Whether the output was published without the rows that damage took."""
        return self.code == _LOSSES and bool(self.document)

    def check(self) -> None:
        """Raise the exception of a run that failed, or that has no final JSON object."""
        error = self.document.get("error")
        if error is None and self.document and (self.code == 0 or self.document.get("status") == "nothing"):
            return
        message = error["message"] if error else self.text.strip() or f"the program ended with exit code {self.code} and reported nothing"
        if self.code == _KILLED:
            message += ": it was killed, perhaps because memory ran out"
        raise error_of(self.code or _DEFECT, message, error, self.document.get("result"))


def find_program() -> str:
    """Return the path of the program: the one of this installation, or else the one on the PATH.

    Raises FileNotFoundError.
    """
    user = sysconfig.get_preferred_scheme("user")
    package = os.path.dirname(os.path.abspath(__file__))
    places = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", user),
        os.path.dirname(sys.executable),
        os.path.join(os.path.dirname(package), "bin"),  # pip install --target
    ]
    for place in places:
        name = os.path.join(place, "rowtocol")
        if os.path.isfile(name) and os.access(name, os.X_OK):
            return name
    found = shutil.which("rowtocol")
    if found is None:
        raise FileNotFoundError(f"the program rowtocol is in none of {', '.join(places)}, nor on the PATH: install the package again")
    return found


def _log(level: int, message: str, entry: dict[str, Any]) -> None:
    logger.log(level, "%s", message, extra={"rowtocol": entry})


class Run:
    """One run of the program, as a context manager. Leaving the context ends the program.

    program is another program with the flags of rowtocol, env its environment. log is called
    in a thread of its own.

    The program is in a session of its own, so that Ctrl-C reaches Python alone; Python then
    sends the program one SIGINT. Raises FileNotFoundError if there is no program.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdin: IO[bytes] | None = None,
        progress: Callable[[Progress], None] | None = None,
        program: str | None = None,
        env: Mapping[str, str] | None = None,
        log: Log = _log,
    ) -> None:
        name, *rest = arguments
        often = ["--progress-every=1s"] if progress is not None else []
        self._process = subprocess.Popen(
            [program or find_program(), name, "--json", "--log-format=json", *often, *rest],
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout: IO[bytes] = self._process.stdout
        self._progress = progress
        self._log = log
        self._document: dict[str, Any] = {}
        self._text: deque[str] = deque(maxlen=50)
        self._reader = threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True)
        self._reader.start()
        _widen(self.stdout)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def finish(self, output: bytes = b"") -> Ending:
        """Wait for the end of a run whose standard output was read to its end.

        output is that output, if it has the final JSON object.
        """
        code = self._process.wait()
        self._reader.join(_STOP_SECONDS)
        document = self._document
        try:
            document = document or json.loads(output or b"{}")
        except ValueError:
            self._text.append(output.decode(errors="replace"))
        return Ending(128 - code if code < 0 else code, document, "\n".join(self._text))

    def interrupt(self) -> None:
        """Tell the program to end, as Ctrl-C does. A second call ends it at once."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def terminate(self) -> None:
        """Send the program SIGTERM, and wait until it has cleaned up. A handler of a signal may call it."""
        if self._process.poll() is None:
            self._process.terminate()
            # The interrupted code may have a lock that Popen.wait needs. The log ends with the program.
            self._reader.join(_STOP_SECONDS)

    def close(self) -> None:
        """End the program if it runs, and wait for it."""
        again: KeyboardInterrupt | None = None
        while self._process.poll() is None:
            try:
                self.interrupt()
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
            except KeyboardInterrupt as e:
                again = e
        self.stdout.close()
        self._reader.join(_STOP_SECONDS)
        if again is not None:
            raise again

    def _read_log(self, stderr: IO[bytes]) -> None:
        with stderr:
            for line in stderr:
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            self._text.append(line.decode(errors="replace").rstrip("\n"))
        elif "level" not in entry:
            self._document = entry
        elif entry["level"] == "ERROR" and "exit" in entry:
            self._text.append(entry.get("msg", ""))  # an exception tells it
        elif self._progress is not None and entry.get("msg") == "progress":
            known = {f.name: entry[f.name] for f in fields(Progress) if f.name in entry}
            try:
                self._progress(Progress(**known))
            except BaseException:  # of the caller's function, which must not stop the log
                logger.exception("the progress callback failed")
        else:
            message = entry.pop("msg", "")
            self._log(_LEVELS.get(entry["level"], logging.INFO), message, entry)


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe hold more, so that the program and Python wait less for each other."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # the user has too many pipes
            fcntl.fcntl(pipe.fileno(), _SET_PIPE_SIZE, _PIPE_BYTES)


def call(
    arguments: Sequence[str],
    *,
    progress: Callable[[Progress], None] | None = None,
    stdin: IO[bytes] | None = None,
) -> Ending:
    """Run a command that prints no rows to its end. An interrupt of Python ends the program."""
    with Run(arguments, stdin=stdin, progress=progress) as run:
        return run.finish(run.stdout.read())
