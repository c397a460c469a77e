"""Answers the tests' questions to Airflow 2 and 3.

    airflow.py intervals FILE DAY   the data interval and the time of the first run after
                                    DAY, for each DAG of FILE; FILE is imported without a
                                    network
    airflow.py codes FILE DIR       the operator's result for each exit code; DIR has a
                                    rowtocol that exits with its last argument
    airflow.py last HOME DAG        the tasks of the last run of a DAG: state, number of
                                    tries and XCom
"""

import json
import os
import runpy
import socket
import sqlite3
import sys
from datetime import datetime, timezone


def intervals(file, day):
    from airflow.timetables.base import TimeRestriction
    from pendulum import instance

    try:
        from airflow.serialization.encoders import coerce_to_core_timetable
    except ImportError:  # Airflow 2
        coerce_to_core_timetable = lambda timetable: timetable

    def refuse(*_):
        raise AssertionError("a network at import time")

    connect, socket.socket.connect = socket.socket.connect, refuse
    module = runpy.run_path(file)
    socket.socket.connect = connect
    earliest = instance(datetime.fromisoformat(day).replace(tzinfo=timezone.utc))
    found = {}
    operators = [o for o in module.values() if type(o).__name__ in ("Rowtocol", "Plan")]
    for dag in {o.dag.dag_id: o.dag for o in operators}.values():
        timetable = coerce_to_core_timetable(dag.timetable)
        restriction = TimeRestriction(earliest=earliest, latest=None, catchup=True)
        run = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
        found[dag.dag_id] = [t.isoformat() for t in (run.data_interval.start, run.data_interval.end, run.run_after)]
    return found


def codes(file, path):
    os.environ["PATH"] = path + ":" + os.environ["PATH"]
    operator = runpy.run_path(file)["Rowtocol"]

    class TI:
        def xcom_push(self, key, value):
            assert key == "return_value", key

    found = {}
    for code in [*range(11), 99, 130, 137, 143]:
        context = {"data_interval_start": datetime(2026, 1, 4, tzinfo=timezone.utc), "run_id": "a run", "ti": TI()}
        try:
            # Airflow wraps execute, so that only tasks call it.
            operator.execute.__wrapped__(operator(task_id=f"exit{code}", arguments=["exit", str(code)]), context)
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
