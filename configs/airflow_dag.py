"""Convert one day of Avro mail to column files every night, on Airflow 2 or 3.

mail_columns converts in one process. mail_columns_mapped runs the tasks of a
plan as mapped tasks, on any worker that reaches the data and PLANS.
mail_columns_cluster converts on the nodes of a Hadoop cluster, and waits;
mail_columns_deferred waits without a worker's slot. These two need Hadoop's
client on the workers, and data on HDFS. mail_table converts what is new, and
makes an Iceberg table hold it; the job file TABLE_JOB has all settings. Use one
of the five.

How Airflow treats each exit code of rowtocol (`rowtocol help exit-codes`):

    0        success
    99       nothing to do (--exit-nothing 99): the task is skipped
    8        committed, but rows were lost: success, with an error in the log
    4, 5     storage failed, or another run holds the destination: retry
    129, 130, 143 stopped by a signal: retry, the rerun resumes
    others   fail at once, since a retry cannot help

The day is that of the start of the run's data interval, in UTC: the run that
starts at 02:10 on the 5th converts the 4th, and so does one that you trigger
by hand later on the 5th. mail_columns also converts new files of the LATE days
before that. A day's output is in a directory dt=DAY, so rowtocol reads all days
as one dataset with the column dt.

Each task returns rows, bytes and losses as its XCom. Secrets are in the job
file, or in files that it names, never in arguments. Airflow's own variables
(AIRFLOW_CTX_DAG_ID and so on) and OPENLINEAGE_PARENT_ID are in rowtocol's
environment.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

try:  # Airflow 3
    from airflow.sdk import DAG, BaseOperator, BaseSensorOperator, CronDataIntervalTimetable
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ImportError:
    from airflow import DAG
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
    from airflow.models import BaseOperator
    from airflow.sensors.base import BaseSensorOperator
    from airflow.timetables.interval import CronDataIntervalTimetable

JOB = "/etc/rowtocol/job.yaml"
TABLE_JOB = "/etc/rowtocol/table.yaml"
INPUT = "/data/mail/{day}"
DEST = "/data/mail.columns/dt={day}"
PLANS = "/data/plans"  # a local directory, or one that all workers mount
HDFS_INPUT = "hdfs:///data/mail/{day}"
HDFS_DEST = "hdfs:///data/mail.columns/dt={day}"
FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)  # earlier days are not converted
LATE = 2  # days
MAPPED = 100  # most mapped tasks for a plan; Airflow's max_map_length is 1,024
KEPT = timedelta(days=7)  # age at which plans and uncommitted work are removed

NOTHING = 99
LOSSES = 8
RETRY = {4, 5, 129, 130, 143}


class Rowtocol(BaseOperator):
    """Run rowtocol. In arguments {day} stands for the day, and {plan} for the plan file of this run."""

    def __init__(self, *, arguments, ago=0, program="rowtocol", job=JOB, **kwargs):
        super().__init__(**kwargs)
        self.arguments, self.ago, self.program, self.job = arguments, ago, program, job
        self.process = None

    def execute(self, context):
        start = context.get("data_interval_start")
        if start is None:
            raise AirflowFailException("the run has no data interval: trigger it with a logical date")
        self.day = start.astimezone(timezone.utc).date() - timedelta(days=self.ago)
        if self.day < FIRST.date():
            raise AirflowSkipException(f"{self.day} is before the first day")
        # Each run has a plan file of its own.
        self.plan = f"{PLANS}/{self.day}-{re.sub('[^0-9A-Za-z]+', '-', context['run_id'])}.json"
        code, report = self.run([a.format(day=self.day, plan=self.plan) for a in self.arguments], context)
        result = report.get("result") or {}
        figures = self.figures(result)
        if code == NOTHING:
            context["ti"].xcom_push(key="return_value", value=figures)
            raise AirflowSkipException("there was nothing to do")
        if code == LOSSES:
            self.log.error("ROWS WERE LOST: %s", json.dumps(result.get("losses"), indent=2))
        elif code != 0:
            message = report.get("error", {}).get("message", "")
            raise (AirflowException if code in RETRY else AirflowFailException)(f"exit code {code}: {message}")
        return figures

    def run(self, arguments, context):
        """Run rowtocol to its end, and return its exit code and JSON object."""
        command = [self.program, "--config", self.job, "--json", *arguments]
        self.log.info("%s", command)
        with tempfile.TemporaryFile("w+") as stdout:
            # In a session of its own rowtocol gets only the SIGTERM of on_kill. A second
            # one, to the process group, would end it before it has cleaned up.
            self.process = subprocess.Popen(
                command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=self.environment(context), start_new_session=True
            )
            try:
                for line in self.process.stderr:
                    self.log.info("%s", line.rstrip())
                code = self.process.wait()
            finally:
                self.on_kill()
            stdout.seek(0)
            text = stdout.read().strip()
        return (128 - code if code < 0 else code), (json.loads(text) if text else {})

    def on_kill(self):
        """Let rowtocol remove its temporary files, which it does within ten seconds."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()

    def environment(self, context):
        """Return rowtocol's environment, which names the parent run for lineage."""
        try:
            from airflow.providers.openlineage.plugins.macros import lineage_parent_id
        except ImportError:  # the provider is not installed
            return None
        return {**os.environ, "OPENLINEAGE_PARENT_ID": lineage_parent_id(context["ti"])}

    def figures(self, result):
        """Return the XCom of this task, from the result in rowtocol's JSON object."""
        return {"rows": result.get("rows", 0), "bytes": result.get("bytes", 0), "losses": len(result.get("losses") or [])}


class Plan(Rowtocol):
    """Make a plan. The XCom is a list of arguments, one item for each mapped task; without new inputs it is empty."""

    def figures(self, result):
        tasks = 0 if result.get("finished") else result.get("tasks", 0)
        shares = min(tasks, MAPPED)
        return [["task", "--plan", self.plan, "--share", f"{i}/{shares}"] for i in range(shares)]


class Clean(Rowtocol):
    """Remove this run's plan, and plans and work that were not committed in time."""

    def figures(self, result):
        Path(self.plan).unlink(missing_ok=True)
        for plan in Path(PLANS).glob("*.json"):
            if plan.stat().st_mtime < time.time() - KEPT.total_seconds():
                plan.unlink(missing_ok=True)


class Start(Rowtocol):
    """Start a job on YARN. The XCom is the application's ID; there is none where there was nothing to do."""

    def figures(self, result):
        return result.get("application")


class Ended(BaseSensorOperator):
    """Wait until an application on YARN has ended, however it did."""

    template_fields = ("application",)

    def __init__(self, *, application, **kwargs):
        super().__init__(mode="reschedule", poke_interval=60, **kwargs)
        self.application = application

    def poke(self, context):
        report = subprocess.run(["yarn", "application", "-status", self.application], capture_output=True, text=True)
        state = re.search(r"^\s*State : (\w+)", report.stdout, re.MULTILINE)
        if state:
            self.log.info("%s is %s", self.application, state[1])
            return state[1] in {"FINISHED", "FAILED", "KILLED"}
        # YARN forgets what ended long ago.
        return "doesn't exist" in report.stdout + report.stderr


nightly = {
    "schedule": CronDataIntervalTimetable("10 2 * * *", timezone="UTC"),
    "start_date": FIRST,
    "catchup": False,
    "max_active_runs": 1,
    "default_args": {
        "retries": 5,
        "retry_delay": timedelta(minutes=5),
        "retry_exponential_backoff": True,
    },
}
CONVERT = ["convert", "--incremental", "--exit-nothing", str(NOTHING), INPUT, DEST]
VERIFY = ["verify", DEST, "--against", INPUT, "--require-complete"]
PLAN = ["plan", "--incremental", INPUT, DEST, "--output", "{plan}"]
COMMIT = ["commit", "--exit-nothing", str(NOTHING), "--plan", "{plan}"]
CLEAN = ["clean", DEST, "--older-than", f"{KEPT.days * 24}h"]

# verify runs unless convert failed: if convert was skipped, the output is from an earlier
# run. verify fails if rows were lost; without --require-complete it only warns.
with DAG(dag_id="mail_columns", **nightly):
    for ago in range(1 + LATE):
        late = f"_{ago}_before" if ago else ""
        convert = Rowtocol(task_id="convert" + late, arguments=CONVERT, ago=ago)
        verify = Rowtocol(task_id="verify" + late, arguments=VERIFY, ago=ago, trigger_rule="none_failed")
        convert >> verify

with DAG(dag_id="mail_columns_mapped", **nightly):
    plan = Plan(task_id="plan", arguments=PLAN)
    tasks = Rowtocol.partial(task_id="task").expand(arguments=plan.output)
    commit = Rowtocol(task_id="commit", arguments=COMMIT, trigger_rule="none_failed_min_one_success")
    verify = Rowtocol(task_id="verify", arguments=VERIFY, trigger_rule="none_failed")
    clean = Clean(task_id="clean", arguments=CLEAN, trigger_rule="none_failed")
    tasks >> commit >> verify >> clean

SUBMIT = ["submit", "--incremental", "--exit-nothing", str(NOTHING), HDFS_INPUT, HDFS_DEST]
VERIFY_HDFS = ["verify", HDFS_DEST, "--against", HDFS_INPUT, "--require-complete"]

with DAG(dag_id="mail_columns_cluster", **nightly):
    submit = Rowtocol(task_id="submit", arguments=SUBMIT)
    verify = Rowtocol(task_id="verify", arguments=VERIFY_HDFS, trigger_rule="none_failed")
    submit >> verify

# publish runs the command of start again, which finds the work of the job. If some tasks
# are not done, it runs them in a new job and waits for that, or says why it cannot.
with DAG(dag_id="mail_columns_deferred", **nightly):
    start = Start(task_id="start", arguments=[*SUBMIT, "--detach"])
    ended = Ended(task_id="ended", application=start.output)
    publish = Rowtocol(task_id="publish", arguments=SUBMIT, trigger_rule="none_failed")
    verify = Rowtocol(task_id="verify", arguments=VERIFY_HDFS, trigger_rule="none_failed")
    ended >> publish >> verify

# sync runs unless convert failed, so it completes the work of a sync that failed.
with DAG(dag_id="mail_table", **nightly):
    convert = Rowtocol(task_id="convert", arguments=["convert", "--exit-nothing", str(NOTHING)], job=TABLE_JOB)
    sync = Rowtocol(
        task_id="sync", arguments=["sync", "--exit-nothing", str(NOTHING)], job=TABLE_JOB, program="rowtocol-iceberg", trigger_rule="none_failed"
    )
    convert >> sync
