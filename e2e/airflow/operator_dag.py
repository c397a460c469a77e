"""Tasks of the operator: each ends in a way of its own. TestAirflow judges how."""

from datetime import datetime, timedelta, timezone

from rowtocol.airflow import RowtocolOperator

try:  # Airflow 3
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

SMALL = ["/data/mail/{{ ds }}/a.avro", "/data/mail/{{ ds }}/b.avro"]
DEST = "/data/{{ dag.dag_id }}-{{ ds }}"

settings = {"schedule": None, "start_date": datetime(2026, 1, 1, tzinfo=timezone.utc), "default_args": {"retries": 5, "retry_delay": timedelta(seconds=1)}}

with DAG(dag_id="operator", **settings):
    same = {"inputs": SMALL, "dest": DEST, "config": "/data/{{ params.job }}.yaml", "params": {"job": "fields", "codec": "zlib"}}
    fields = RowtocolOperator(task_id="fields", options={"compression": ["{{ params.codec }}", "id=none"]}, **same)
    again = RowtocolOperator(task_id="again", options={"compression": ["zlib", "id=none"], "exit_nothing": 99}, **same)
    unwrapped = RowtocolOperator(task_id="unwrapped", options={"compression": ["zlib", "id=none"]}, do_xcom_push=False, **same)
    verify = RowtocolOperator(task_id="verify", command="verify", inputs=SMALL, dest=DEST, options={"require_complete": True}, trigger_rule="none_failed")
    different = RowtocolOperator(task_id="different", inputs=SMALL[:1], dest=DEST, trigger_rule="none_failed")
    fields >> [again, unwrapped] >> verify >> different

with DAG(dag_id="operator_busy", **settings):
    busy = RowtocolOperator(task_id="busy", program="/data/busy")

with DAG(dag_id="operator_slow", **settings):
    slow = RowtocolOperator(
        task_id="slow",
        inputs="/data/mail/{{ ds }}/large.avro",
        dest="/data/slow",
        config="/etc/rowtocol/job.yaml",
        options={"workers": 1, "codec": "bzip2"},
        execution_timeout=timedelta(seconds=2),
        retries=0,
    )
