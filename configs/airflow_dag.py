"""Convert one day of Avro mail to column files every night.

How Airflow should take each exit code of rowtocol (`rowtocol help exit-codes`):

    0        success
    99       nothing to do (--exit-nothing 99): the task is skipped
    4, 5     storage trouble, or another run holds the destination: retry
    130, 143 stopped by a signal: retry, the rerun resumes
    8        committed, but with losses: success, with a loud message
    others   fail at once, a retry cannot help: 9 says that the destination
             holds the output of other inputs or options

mail_columns converts in one process. mail_columns_mapped spreads the tasks of
the plan over mapped tasks, which run on any worker that reaches the data and
PLANS. Take one of the two.

It uses only what Airflow 2 and 3 share.
"""

import json
import subprocess
from datetime import datetime, timedelta

from airflow import DAG
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.operators.python import PythonOperator

PLANS = "/data/plans"
MAPPED = 1000  # Airflow's max_map_length is 1,024
NOTHING = 99
LOSSES = 8
RETRY = {4, 5, 130, 143}


def rowtocol(*args):
    """Run rowtocol and return its JSON object; raise what Airflow should do."""
    command = ["rowtocol", "--config", "/etc/rowtocol/job.yaml", "--json", *args]
    # Standard error is inherited: its JSON lines belong into the task's log.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            stdout, _ = process.communicate()
        except BaseException:
            # The task is being stopped. SIGTERM lets rowtocol remove its
            # temporary files; subprocess.run would have sent SIGKILL.
            process.terminate()
            process.wait()
            raise
    code = 128 - process.returncode if process.returncode < 0 else process.returncode
    report = json.loads(stdout) if stdout.strip() else {}
    message = report.get("error", {}).get("message", f"exit code {code}")
    if code == NOTHING:
        raise AirflowSkipException("the output is already there")
    if code in RETRY:
        raise AirflowException(message)
    if code == LOSSES:
        print("ROWS WERE LOST:", json.dumps(report["result"]["losses"], indent=2))
        return report
    if code != 0:
        raise AirflowFailException(message)
    return report


def convert(ds):
    rowtocol("convert", "--exit-nothing", str(NOTHING), f"/data/mail/{ds}", f"/data/mail.columns/{ds}")


def verify(ds):
    rowtocol("verify", f"/data/mail.columns/{ds}", "--against", f"/data/mail/{ds}", "--require-complete")


def plan(ds):
    """Write the plan of a day, and return the arguments of its mapped tasks."""
    inputs, dest, file = f"/data/mail/{ds}", f"/data/mail.columns/{ds}", f"{PLANS}/{ds}.json"
    report = rowtocol("plan", inputs, dest, "--output", file)
    tasks = range(report["result"]["tasks"])
    return [{"file": file, "tasks": list(tasks[first::MAPPED])} for first in tasks[:MAPPED]]


def task(file, tasks):
    rowtocol("task", "--plan", file, "--task", ",".join(map(str, tasks)))


def commit(ds):
    rowtocol("commit", "--exit-nothing", str(NOTHING), "--plan", f"{PLANS}/{ds}.json")


nightly = {
    "schedule": "10 2 * * *",
    "start_date": datetime(2026, 1, 1),
    "catchup": False,
    "max_active_runs": 1,
    "default_args": {
        "retries": 5,
        "retry_delay": timedelta(minutes=5),
        "retry_exponential_backoff": True,
    },
}

with DAG(dag_id="mail_columns", **nightly):
    convert_task = PythonOperator(task_id="convert", python_callable=convert, op_kwargs={"ds": "{{ ds }}"})
    verify_task = PythonOperator(task_id="verify", python_callable=verify, op_kwargs={"ds": "{{ ds }}"})
    convert_task >> verify_task

with DAG(dag_id="mail_columns_mapped", **nightly):
    plan_task = PythonOperator(task_id="plan", python_callable=plan, op_kwargs={"ds": "{{ ds }}"})
    mapped_tasks = PythonOperator.partial(task_id="task", python_callable=task).expand(op_kwargs=plan_task.output)
    commit_task = PythonOperator(task_id="commit", python_callable=commit, op_kwargs={"ds": "{{ ds }}"}, trigger_rule="none_failed")
    mapped_tasks >> commit_task
