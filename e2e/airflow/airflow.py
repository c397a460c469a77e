"""Answers the tests' questions to Airflow 2 and 3.

    airflow.py intervals FILE DAY   the data interval and the time of the first run after
                                    DAY, for each DAG of FILE; FILE is imported without a
                                    network
    airflow.py codes PROGRAM        the operator's result for each exit code; PROGRAM exits
                                    with its last argument
    airflow.py last HOME DAG        the tasks of the last run of a DAG: state, number of
                                    tries and XCom
"""

import json
import socket
import sqlite3
import sys
from datetime import datetime, timezone


def intervals(file, day):
    from airflow.timetables.base import TimeRestriction
    from pendulum import instance

    try:
        from airflow.dag_processing.dagbag import DagBag
        from airflow.serialization.encoders import coerce_to_core_timetable
    except ImportError:  # Airflow 2
        from airflow.models import DagBag

        def coerce_to_core_timetable(timetable):
            return timetable

    def refuse(*_):
        raise AssertionError("a network at import time")

    connect, socket.socket.connect = socket.socket.connect, refuse
    bag = DagBag(file)
    socket.socket.connect = connect
    assert not bag.import_errors, bag.import_errors
    earliest = instance(datetime.fromisoformat(day).replace(tzinfo=timezone.utc))
    found = {}
    for dag in bag.dags.values():
        timetable = coerce_to_core_timetable(dag.timetable)
        restriction = TimeRestriction(earliest=earliest, latest=None, catchup=True)
        run = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
        found[dag.dag_id] = [t.isoformat() for t in (run.data_interval.start, run.data_interval.end, run.run_after)]
    return found


def codes(program):
    from rowtocol.airflow import RowtocolOperator as Operator

    class TI:
        def xcom_push(self, key, value):
            assert key == "return_value", key

    found = {}
    for code in [*range(11), 99, 130, 137, 143]:
        try:
            # Airflow wraps execute, so that only tasks call it.
            Operator.execute.__wrapped__(Operator(task_id=f"exit{code}", dest=str(code), program=program), {"ti": TI()})
            found[code] = "success"
        except Exception as e:
            found[code] = type(e).__name__
    return found


def last(home, dag):
    with sqlite3.connect(f"file:{home}/airflow.db?mode=ro", uri=True) as db:
        (run,) = db.execute("SELECT run_id FROM dag_run WHERE dag_id = ? ORDER BY id DESC", (dag,)).fetchone()
        states = db.execute("SELECT task_id, map_index, state, try_number FROM task_instance WHERE dag_id = ? AND run_id = ?", (dag, run))
        tasks = {name(task, index): {"State": state or "", "Tries": tries} for task, index, state, tries in states}
        values = db.execute("SELECT task_id, map_index, value FROM xcom WHERE dag_id = ? AND run_id = ? AND key = 'return_value'", (dag, run))
        for task, index, value in values:
            tasks[name(task, index)]["XCom"] = json.loads(value)
    return tasks


def name(task, index):
    return task if index < 0 else f"{task}.{index}"


command, *arguments = sys.argv[1:]
print(json.dumps({"intervals": intervals, "codes": codes, "last": last}[command](*arguments)))
