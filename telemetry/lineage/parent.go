package lineage

import (
	"crypto/sha1"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RunID is the UUID of a run of the program by its ID: of version 5, of the name
// "rowtocol:" and the ID in the namespace for URLs. So does
// "uuidgen --sha1 --namespace @url --name rowtocol:ID".
func RunID(id string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rowtocol:"+id)).String()
}

// namespace is that of jobs; otherwise is where the environment names none.
func namespace(otherwise string) string {
	if ns := os.Getenv("OPENLINEAGE_NAMESPACE"); ns != "" {
		return ns
	}
	return otherwise
}

// parent names the run of a scheduler that this one is a part of; nil if the environment
// does not tell. OPENLINEAGE_PARENT_ID is namespace/job/run; without it, there is what
// Airflow tells every task.
func parent() facets {
	if id := os.Getenv("OPENLINEAGE_PARENT_ID"); id != "" {
		rest, run, _ := cutLast(id, "/")
		in, name, ok := cutLast(rest, "/")
		if _, err := uuid.Parse(run); err != nil || !ok || len(run) != 36 {
			return nil
		}
		return parentFacet(in, name, run)
	}
	return airflowParent()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func parentFacet(in, name, run string) facets {
	return facet("1-2-0", "ParentRunFacet", facets{
		"run": map[string]string{"runId": run},
		"job": map[string]string{"namespace": in, "name": name},
	})
}

// airflowParent is the run of an Airflow task as Airflow's own OpenLineage provider
// calls it, from what the environment of a task says: the UUID is made of the logical
// date, and of the names of DAG and task and the number of the try. Of what the provider
// takes, two things are not in the environment: the index of a mapped task, so that the
// parent is right for tasks that are not mapped, and a namespace in airflow.cfg, which
// OPENLINEAGE_NAMESPACE must repeat. A run without a logical date has no parent here.
func airflowParent() facets {
	dag, task, try := os.Getenv("AIRFLOW_CTX_DAG_ID"), os.Getenv("AIRFLOW_CTX_TASK_ID"), os.Getenv("AIRFLOW_CTX_TRY_NUMBER")
	date := os.Getenv("AIRFLOW_CTX_LOGICAL_DATE")
	if date == "" {
		date = os.Getenv("AIRFLOW_CTX_EXECUTION_DATE") // of older ones
	}
	at, err := time.Parse(time.RFC3339, date)
	if dag == "" || task == "" || try == "" || err != nil {
		return nil
	}
	in := os.Getenv("AIRFLOW__OPENLINEAGE__NAMESPACE")
	if in == "" {
		in = namespace("default")
	}
	const notMapped = "-1"
	name := dag + "." + task
	return parentFacet(in, name, staticUUID(at, in+"."+name+"."+try+"."+notMapped).String())
}

// staticUUID is the UUID that OpenLineage's Python client makes of an instant and a
// name: of version 7, with a hash of both in place of the random bits.
func staticUUID(at time.Time, name string) uuid.UUID {
	at = at.UTC().Truncate(time.Microsecond)
	written := at.Format("2006-01-02T15:04:05")
	if at.Nanosecond() != 0 {
		written = at.Format("2006-01-02T15:04:05.000000")
	}
	sum := sha1.Sum([]byte(written + "+00:00" + name))
	// Python has seconds as a float, which may be a millisecond less than the time says.
	ms := uint64(float64(at.UnixMicro()) / 1e6 * 1000)
	var id uuid.UUID
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = 0x70 | sum[0]>>4
	for i := range 9 {
		id[7+i] = sum[i]<<4 | sum[i+1]>>4
	}
	id[8] = 0x80 | id[8]&0x3f
	return id
}
