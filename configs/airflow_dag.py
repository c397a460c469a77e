"""Convert one day of Avro mail to column files every night.

How Airflow should take each exit code of rowtocol (`rowtocol help exit-codes`):

    0        success
    99       nothing to do (--exit-nothing 99): the task is skipped
    4, 5     storage trouble, or another run holds the destination: retry
    130, 143 stopped by a signal: retry, the rerun resumes
    8        committed, but with losses: success, with a loud message
    others   fail at once, a retry cannot help

It uses only what Airflow 2 and 3 share.
"""

import json
import subprocess
from datetime import datetime, timedelta

from airflow import DAG
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.operators.python import PythonOperator

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


with DAG(
    dag_id="mail_columns",
    schedule="10 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={
        "retries": 5,
        "retry_delay": timedelta(minutes=5),
        "retry_exponential_backoff": True,
    },
) as dag:
    convert_task = PythonOperator(task_id="convert", python_callable=convert, op_kwargs={"ds": "{{ ds }}"})
    verify_task = PythonOperator(task_id="verify", python_callable=verify, op_kwargs={"ds": "{{ ds }}"})
    convert_task >> verify_task
