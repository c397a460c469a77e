"""Convert one day of Avro mail to column files every night, on Airflow 2 or 3.

mail_columns converts in one process. mail_columns_mapped runs the tasks of a
plan as mapped tasks, on any worker that reaches the data and PLANS.
mail_columns_cluster converts on the nodes of a Hadoop cluster, and waits;
mail_columns_deferred waits without a worker's slot. These two need Hadoop's
client on the workers, and data on HDFS. mail_table converts what is new, and
makes an Iceberg table hold it; the job file TABLE_JOB has all settings. Use one
of the five. Airflow's workers need the Python package: pip install rowtocol.

How the operator treats each exit code of rowtocol (`rowtocol help exit-codes`):

    0        success; the task is skipped if there was nothing to do
    8        committed, but rows were lost: success, with an error in the log
    4, 5     storage failed, or another run holds the destination: retry
    129, 130, 143 stopped by a signal: retry, the rerun resumes
    others   fail at once, since a retry cannot help

The day is that of the start of the run's data interval, in UTC: the run that
starts at 02:10 on the 5th converts the 4th, and so does one that you trigger
by hand later on the 5th. mail_columns also converts new files of the LATE days
before that. A day's output is in a directory dt=DAY, so rowtocol reads all days
as one dataset with the column dt.

Each task returns rows, bytes, losses and other figures as its XCom. Secrets are
in the job file, or in files that it names, never in options. Airflow's own
variables (AIRFLOW_CTX_DAG_ID and so on) and OPENLINEAGE_PARENT_ID are in
rowtocol's environment.
"""

import re
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from rowtocol.airflow import RowtocolOperator

try:  # Airflow 3
    from airflow.sdk import DAG, BaseSensorOperator, CronDataIntervalTimetable
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
except ImportError:
    from airflow import DAG
    from airflow.exceptions import AirflowFailException, AirflowSkipException
    from airflow.sensors.base import BaseSensorOperator
    from airflow.timetables.interval import CronDataIntervalTimetable

JOB = "/etc/rowtocol/job.yaml"
TABLE_JOB = "/etc/rowtocol/table.yaml"
# The day of a run, or the day that is as many days earlier as the task's ago says.
DAY = "{{ macros.ds_add(data_interval_start | ds, -task.ago) if data_interval_start }}"
DISK = {"inputs": "/data/mail/" + DAY, "dest": "/data/mail.columns/dt=" + DAY}
HDFS = {"inputs": "hdfs:///data/mail/" + DAY, "dest": "hdfs:///data/mail.columns/dt=" + DAY}
PLANS = "/data/plans"  # a local directory, or one that all workers mount
PLAN = PLANS + "/{{ run_id }}.json"  # each run has a plan file of its own
FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)  # earlier days are not converted
LATE = 2  # days
MAPPED = 100  # most mapped tasks for a plan; Airflow's max_map_length is 1,024
KEPT = timedelta(days=7)  # age at which plans and uncommitted work are removed


class Daily(RowtocolOperator):
    """Run rowtocol on a day. Days before the first are skipped."""

    def __init__(self, *, ago=0, config=JOB, **kwargs):
        super().__init__(config=config, **kwargs)
        self.ago = ago

    def execute(self, context):
        start = context.get("data_interval_start")
        if start is None:
            raise AirflowFailException("the run has no data interval: trigger it with a logical date")
        if start - timedelta(days=self.ago) < FIRST:
            raise AirflowSkipException("the day is before the first day")
        return super().execute(context)


class Plan(Daily):
    """Make a plan. The XCom has the options of each mapped task; without new inputs it is empty."""

    def figures(self, result):
        tasks = 0 if result["finished"] else result["tasks"]
        shares = min(tasks, MAPPED)
        return [{"plan": result["file"], "share": f"{i}/{shares}"} for i in range(shares)]


class Clean(Daily):
    """Remove this run's plan, and plans and work that were not committed in time."""

    template_fields = (*Daily.template_fields, "plan")

    def __init__(self, *, plan, **kwargs):
        super().__init__(command="clean", options={"older_than": KEPT}, **kwargs)
        self.plan = plan

    def figures(self, result):
        Path(self.plan).unlink(missing_ok=True)
        for plan in Path(PLANS).glob("*.json"):
            if plan.stat().st_mtime < time.time() - KEPT.total_seconds():
                plan.unlink(missing_ok=True)


class Ended(BaseSensorOperator):
    """Wait until an application on YARN has ended, however it did."""

    template_fields = ("application",)

    def __init__(self, *, application, **kwargs):
        super().__init__(mode="reschedule", poke_interval=60, **kwargs)
        self.application = application

    def poke(self, context):
        if not self.application:  # all tasks were done, and no job was needed
            return True
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
NEW = {"incremental": True}  # convert only what the destination does not have
# A check runs unless a task before it failed: if the conversion was skipped, the output is from
# an earlier run. The check fails if rows were lost; without require_complete it only warns.
CHECK = {"command": "verify", "options": {"require_complete": True}, "trigger_rule": "none_failed"}

with DAG(dag_id="mail_columns", **nightly):
    for ago in range(1 + LATE):
        late = f"_{ago}_before" if ago else ""
        convert = Daily(task_id="convert" + late, ago=ago, options=NEW, **DISK)
        verify = Daily(task_id="verify" + late, ago=ago, **DISK, **CHECK)
        convert >> verify

# commit runs if the mapped tasks are skipped, since an earlier run may have done their work.
with DAG(dag_id="mail_columns_mapped", **nightly):
    plan = Plan(task_id="plan", command="plan", options={**NEW, "output": PLAN}, **DISK)
    tasks = Daily.partial(task_id="task", command="task").expand(options=plan.output)
    commit = Daily(task_id="commit", command="commit", options={"plan": PLAN}, trigger_rule="none_failed")
    verify = Daily(task_id="verify", **DISK, **CHECK)
    clean = Clean(task_id="clean", dest=DISK["dest"], plan=PLAN, trigger_rule="none_failed")
    tasks >> commit >> verify >> clean

with DAG(dag_id="mail_columns_cluster", **nightly):
    submit = Daily(task_id="submit", command="submit", options=NEW, **HDFS)
    verify = Daily(task_id="verify", **HDFS, **CHECK)
    submit >> verify

# publish runs the command of start again, which finds the work of the job. If some tasks
# are not done, it runs them in a new job and waits for that, or says why it cannot.
with DAG(dag_id="mail_columns_deferred", **nightly):
    start = Daily(task_id="start", command="submit", options={**NEW, "detach": True}, **HDFS)
    ended = Ended(task_id="ended", application="{{ ti.xcom_pull(task_ids='start').get('application', '') }}")
    publish = Daily(task_id="publish", command="submit", options=NEW, trigger_rule="none_failed", **HDFS)
    verify = Daily(task_id="verify", **HDFS, **CHECK)
    start >> ended >> publish >> verify

# sync runs unless convert failed, so it completes the work of a sync that failed.
with DAG(dag_id="mail_table", **nightly):
    convert = RowtocolOperator(task_id="convert", config=TABLE_JOB)
    sync = RowtocolOperator(task_id="sync", command="sync", program="rowtocol-iceberg", config=TABLE_JOB, trigger_rule="none_failed")
    convert >> sync
