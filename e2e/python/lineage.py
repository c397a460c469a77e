"""Run events, as OpenLineage's Python client understands them.

lineage.py EVENTS.jsonl NAMESPACE/JOB/RUN

The client's classes are generated from OpenLineage's JSON schemas, and name them.
Each event and each facet must fit its class: no unknown field, none missing, the
right types, and the same when the client writes it again. A run has the events
START and an end, and all have the given parent.
"""

import collections
import enum
import json
import sys
import types
import typing

import attr
from openlineage.client import event_v2 as events
from openlineage.client import facet_v2 as facets
from openlineage.client.serde import Serde

FACETS = {
    "processing_engine": facets.processing_engine_run.ProcessingEngineRunFacet,
    "parent": facets.parent_run.ParentRunFacet,
    "errorMessage": facets.error_message_run.ErrorMessageRunFacet,
    "jobType": facets.job_type_job.JobTypeJobFacet,
    "schema": facets.schema_dataset.SchemaDatasetFacet,
    "inputStatistics": facets.input_statistics_input_dataset.InputStatisticsInputDatasetFacet,
    "outputStatistics": facets.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
}


def build(kind, value, name=""):
    """Converts a JSON value to a type, which it must fit."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else build(args[0], value, name)
    if origin is list:
        return [build(args[0], v) for v in check(value, list)]
    if origin is dict:
        return {k: build(facet(k, args[1]), v) for k, v in check(value, dict).items()}
    if attr.has(kind):
        fields = {a.name: a for a in attr.fields(kind)}
        unknown = check(value, dict).keys() - fields.keys()
        assert not unknown, f"{kind.__name__} has no {unknown}"
        hints = typing.get_type_hints(kind)
        return kind(**{fields[k].alias: build(hints[k], v, k) for k, v in value.items() if fields[k].init})
    if issubclass(kind, enum.Enum):
        return kind(value)
    return check(value, kind)


def facet(name, base):
    """Finds the class of a facet, which must be a subclass of base."""
    assert issubclass(FACETS[name], base), f"{name} is no {base.__name__}"
    return FACETS[name]


def check(value, kind):
    assert type(value) is kind, f"{value!r} is no {kind.__name__}"
    return value


def again(event):
    """Writes an event like the client. Empty fields may be absent."""
    return full(Serde.to_dict(build(events.RunEvent, event)))


def full(value):
    if isinstance(value, list):
        return [full(v) for v in value]
    if isinstance(value, dict):
        return {k: full(v) for k, v in value.items() if v not in ({}, [])}
    return value


def must_fail(event, change):
    """Checks that the judge finds a change."""
    event = json.loads(json.dumps(event))
    change(event)
    try:
        same = again(event) == full(event)
    except (AssertionError, KeyError, TypeError, ValueError):
        return
    assert not same, "the judge takes everything"


def main(name, parent):
    kinds = collections.defaultdict(list)
    with open(name, encoding="utf-8") as f:
        for line in f:
            event = json.loads(line)
            assert again(event) == full(event), f"{again(event)}\nis not\n{full(event)}"
            kinds[event["run"]["runId"]].append(event["eventType"])
            of = event["run"]["facets"]["parent"]
            assert f"{of['job']['namespace']}/{of['job']['name']}/{of['run']['runId']}" == parent, of
    for run, told in kinds.items():
        assert len(told) == 2 and told[0] == "START" and told[1] in ("COMPLETE", "FAIL", "ABORT"), (run, told)
    must_fail(event, lambda e: e["run"].update(runId="1"))
    must_fail(event, lambda e: e.pop("eventTime"))
    must_fail(event, lambda e: e.update(schemaURL="https://openlineage.io/spec/1-0-0/OpenLineage.json"))
    must_fail(event, lambda e: e["job"]["facets"]["jobType"].update(_schemaURL="x"))
    must_fail(event, lambda e: e["job"].update(surplus=1))
    must_fail(event, lambda e: e["job"]["facets"].update(unknown={}))
    print(sorted(told[1] for told in kinds.values()))


main(*sys.argv[1:])
