"""An operator of Airflow 2 and 3 that runs rowtocol.

    from rowtocol.airflow import RowtocolOperator

    convert = RowtocolOperator(task_id="convert", inputs="/data/mail/{{ ds }}", dest="/data/mail.columns/dt={{ ds }}")

Install the package where Airflow's workers run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

try:  # Airflow 3
    from airflow.sdk import BaseOperator
except ImportError:
    from airflow.models import BaseOperator
try:  # later releases of Airflow 3
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ImportError:
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from ._errors import RowtocolError
from ._flags import Path, Paths, arguments_of, paths_of
from ._run import Ending, Run

_RETRIED = {4, 5, 129, 130, 143}


class RowtocolOperator(BaseOperator):  # type: ignore[misc]
    """Run a command of rowtocol, such as convert, verify or submit.

    inputs and dest are the command's arguments; they may be in the job file config instead.
    verify checks dest, and compares it with inputs if there are any. options has the flags of
    the command by name, as the functions of this package take them: {"row_group_size": "64MiB"}.
    program is another program with the flags of rowtocol, such as rowtocol-iceberg.

    If there was nothing to do, the task is skipped. If rows were lost, it succeeds, with an
    error in its log. It is retried if storage failed, if another run holds the destination and
    if a signal ended the program, which then resumes. After all other failures it fails
    without a retry. The XCom has the figures of the result, such as rows, bytes and losses.
    """

    template_fields: Sequence[str] = ("inputs", "dest", "options", "config")
    template_fields_renderers: ClassVar[dict[str, str]] = {"options": "json"}

    def __init__(
        self,
        *,
        command: str = "convert",
        inputs: Paths | None = None,
        dest: Path | None = None,
        options: Mapping[str, Any] | None = None,
        config: Path | None = None,
        program: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.command = command
        self.inputs = inputs
        self.dest = dest
        self.options = options
        self.config = config
        self.program = program
        self._run: Run | None = None

    def execute(self, context: Any) -> Any:
        """Run the command, and return the XCom.

        Raises AirflowSkipException, AirflowFailException, and AirflowException if a retry may help.
        """
        ending = self._call(context)
        result = ending.document.get("result") or {}
        if ending.lossy:
            self.log.error("ROWS WERE LOST: %s", json.dumps(result.get("losses"), indent=2))
            return self.figures(result)
        try:
            ending.check()
        except RowtocolError as e:
            kind = AirflowException if e.code in _RETRIED else AirflowFailException
            raise kind(f"exit code {e.code}: {e}") from e
        figures = self.figures(result)
        if ending.document.get("status") == "nothing":
            if self.do_xcom_push:
                context["ti"].xcom_push(key="return_value", value=figures)
            raise AirflowSkipException("there was nothing to do")
        return figures

    def figures(self, result: Mapping[str, Any]) -> Any:
        """Return the XCom for the result in the program's JSON object: its values, and the lengths of its lists."""
        sizes = {name: len(value) if isinstance(value, list) else value for name, value in result.items()}
        return {name: value for name, value in sizes.items() if not isinstance(value, dict)}

    def on_kill(self) -> None:
        """Let the program remove its temporary files, which it does within ten seconds."""
        if self._run is not None:
            self._run.terminate()

    def _call(self, context: Any) -> Ending:
        arguments = self._arguments()
        self.log.info("%s", shlex.join([self.program or "rowtocol", *arguments]))
        with Run(arguments, program=self.program, env=_environment(context), log=self._log_line) as run:
            self._run = run
            return run.finish(run.stdout.read())

    def _arguments(self) -> list[str]:
        places = [] if self.dest is None else paths_of(self.dest)
        flags = {"config": self.config, **(self.options or {})}
        if self.command == "verify":
            flags = {"against": self.inputs, **flags}
        elif self.inputs is not None:
            places = [*paths_of(self.inputs), *places]
        return [self.command, *arguments_of(flags), *places]

    def _log_line(self, level: int, message: str, entry: dict[str, Any]) -> None:
        fields = (f" {name}={json.dumps(value)}" for name, value in entry.items() if name not in {"time", "level", "run"})
        self.log.log(level, "%s%s", message, "".join(fields))


def _environment(context: Any) -> dict[str, str] | None:
    """Return the program's environment, which names the parent run for lineage."""
    try:
        from airflow.providers.openlineage.plugins.macros import lineage_parent_id
    except ImportError:  # the provider is not installed
        return None
    return {**os.environ, "OPENLINEAGE_PARENT_ID": lineage_parent_id(context["ti"])}
