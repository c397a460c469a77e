package lineage

import (
	"crypto/sha1"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RunID returns the UUID of the run of the program with an ID: of version 5, for the name
// "rowtocol:" and the ID in the namespace for URLs. The command
// "uuidgen --sha1 --namespace @url --name rowtocol:ID" prints the same.
func RunID(id string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rowtocol:"+id)).String()
}

// namespace returns the namespace of jobs, or fallback if the environment has none.
func namespace(fallback string) string {
	if ns := os.Getenv("OPENLINEAGE_NAMESPACE"); ns != "" {
		return ns
	}
	return fallback
}

// parent returns the facet of the scheduler's run that this run is a part of; nil if the
// environment does not name it. OPENLINEAGE_PARENT_ID is namespace/job/run. Without it,
// the variables that Airflow sets for every task apply.
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

// airflowParent returns the run of an Airflow task as Airflow's OpenLineage provider names
// it, from the environment of the task. The UUID derives from the logical date, the names
// of DAG and task, and the number of the try. The provider also uses two values that are
// not in the environment: the index of a mapped task, so the parent is only right for
// tasks that are not mapped, and a namespace in airflow.cfg, which OPENLINEAGE_NAMESPACE
// must repeat. Without a logical date the result is nil.
func airflowParent() facets {
	dag, task, try := os.Getenv("AIRFLOW_CTX_DAG_ID"), os.Getenv("AIRFLOW_CTX_TASK_ID"), os.Getenv("AIRFLOW_CTX_TRY_NUMBER")
	date := os.Getenv("AIRFLOW_CTX_LOGICAL_DATE")
	if date == "" {
		date = os.Getenv("AIRFLOW_CTX_EXECUTION_DATE") // of older versions
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

// staticUUID returns the UUID that OpenLineage's Python client makes of an instant and a
// name: of version 7, with a hash of both in place of the random bits.
func staticUUID(at time.Time, name string) uuid.UUID {
	at = at.UTC().Truncate(time.Microsecond)
	written := at.Format("2006-01-02T15:04:05")
	if at.Nanosecond() != 0 {
		written = at.Format("2006-01-02T15:04:05.000000")
	}
	sum := sha1.Sum([]byte(written + "+00:00" + name))
	// Python has seconds as a float, which may round down to a millisecond less.
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
