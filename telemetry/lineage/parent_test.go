package lineage

import (
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestRunID(t *testing.T) {
	// Python's uuid.uuid5 and uuidgen return the same.
	if got := RunID("0123456789abcdef"); got != "db26e6de-cd53-5b68-920f-ecad269d7853" {
		t.Error(got)
	}
}

// TestStaticUUID checks that staticUUID gives the results of openlineage-python 1.54.0.
func TestStaticUUID(t *testing.T) {
	for date, want := range map[string]string{
		"2026-11-22T00:00:00+00:00":        "01a2008d-7400-7934-8e7f-cce1f4b5e5ea",
		"2026-11-22T02:10:00.249762+01:00": "01a200cd-8b39-70d2-9d5d-ea35a4a57c5b",
		"2025-02-25T06:42:00.001001+00:00": "01953bd7-4ac1-76a1-b111-f46f1d28b9c4",
	} {
		at, err := time.Parse(time.RFC3339, date)
		testenv.Must(t, err)
		if got := staticUUID(at, "default.nightly.convert.1.-1").String(); got != want {
			t.Errorf("%s: got %s, want %s", date, got, want)
		}
	}
}

func TestParent(t *testing.T) {
	airflow := map[string]string{
		"AIRFLOW_CTX_DAG_ID": "nightly", "AIRFLOW_CTX_TASK_ID": "convert", "AIRFLOW_CTX_TRY_NUMBER": "1",
		"AIRFLOW_CTX_DAG_RUN_ID": "scheduled__2026-11-22T00:00:00+00:00", "AIRFLOW_CTX_LOGICAL_DATE": "2026-11-22T00:00:00+00:00",
	}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		for k, v := range airflow {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	const given = "f99310b4-3c3c-4a1a-8b2b-c1b95c24ff11"
	for what, tt := range map[string]struct {
		env  map[string]string
		want string // namespace, name and run of the parent
	}{
		"nothing":           {nil, ""},
		"Airflow":           {airflow, "default nightly.convert 01a2008d-7400-7934-8e7f-cce1f4b5e5ea"},
		"Airflow 2.1":       {with("AIRFLOW_CTX_LOGICAL_DATE", "", "AIRFLOW_CTX_EXECUTION_DATE", "2026-11-22T00:00:00+00:00"), "default nightly.convert 01a2008d-7400-7934-8e7f-cce1f4b5e5ea"},
		"no date":           {with("AIRFLOW_CTX_LOGICAL_DATE", ""), ""},
		"invalid date":      {with("AIRFLOW_CTX_LOGICAL_DATE", "tomorrow"), ""},
		"no try":            {with("AIRFLOW_CTX_TRY_NUMBER", ""), ""},
		"parent ID":         {with("OPENLINEAGE_PARENT_ID", "prod/nightly.convert/"+given), "prod nightly.convert " + given},
		"URL as namespace":  {with("OPENLINEAGE_PARENT_ID", "https://airflow.example/prod/nightly.convert/"+given), "https://airflow.example/prod nightly.convert " + given},
		"partial parent ID": {with("OPENLINEAGE_PARENT_ID", "nightly.convert/"+given), ""},
		"not a UUID":        {with("OPENLINEAGE_PARENT_ID", "prod/nightly.convert/1"), ""},
		"UUID in braces":    {with("OPENLINEAGE_PARENT_ID", "prod/nightly.convert/{"+given+"}"), ""},
	} {
		t.Run(what, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			e := toJSON(t, Start(newRun(""), nil))
			got := ""
			if jsonAt(t, e, "run", "facets", "parent") != "" {
				got = strings.Join([]string{
					jsonAt(t, e, "run", "facets", "parent", "job", "namespace"), jsonAt(t, e, "run", "facets", "parent", "job", "name"),
					jsonAt(t, e, "run", "facets", "parent", "run", "runId"),
				}, " ")
			}
			if got = strings.ReplaceAll(got, `"`, ""); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestNamespace(t *testing.T) {
	t.Setenv("AIRFLOW_CTX_DAG_ID", "nightly")
	t.Setenv("AIRFLOW_CTX_TASK_ID", "convert")
	t.Setenv("AIRFLOW_CTX_TRY_NUMBER", "1")
	t.Setenv("AIRFLOW_CTX_LOGICAL_DATE", "2026-11-22T00:00:00+00:00")
	t.Setenv("OPENLINEAGE_NAMESPACE", "prod")
	e := toJSON(t, Start(newRun(""), nil))
	if jsonAt(t, e, "job", "namespace") != `"prod"` || jsonAt(t, e, "run", "facets", "parent", "job", "namespace") != `"prod"` {
		t.Error(jsonAt(t, e))
	}
	t.Setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "airflow")
	e = toJSON(t, Start(newRun(""), nil))
	if jsonAt(t, e, "job", "namespace") != `"prod"` || jsonAt(t, e, "run", "facets", "parent", "job", "namespace") != `"airflow"` {
		t.Error(jsonAt(t, e))
	}
}
