package lineage

import (
	"crypto/sha1"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RunID returns the UUID of the run of the program with an ID. The UUID has version 5, the
// namespace for URLs, and the name "rowtocol:" followed by the ID. The command
// "uuidgen --sha1 --namespace @url --name rowtocol:ID" prints the same UUID.
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

// parent returns the facet of the scheduler's run to which this run belongs; nil if the
// environment does not name that run. OPENLINEAGE_PARENT_ID is namespace/job/run. If it is not
// set, the variables that Airflow sets for every task apply.
func parent() facets {
	if id := os.Getenv("OPENLINEAGE_PARENT_ID"); id != "" {
		rest, run, _ := cutLast(id, "/")
		space, name, ok := cutLast(rest, "/")
		if _, err := uuid.Parse(run); err != nil || !ok || len(run) != 36 {
			return nil
		}
		return parentFacet(space, name, run)
	}
	return airflowParent()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func parentFacet(space, name, run string) facets {
	return facet("1-2-0", "ParentRunFacet", facets{
		"run": map[string]string{"runId": run},
		"job": map[string]string{"namespace": space, "name": name},
	})
}

// airflowParent returns the facet of the run of an Airflow task, from the environment of the
// task. It names the run as Airflow's OpenLineage provider does: the UUID derives from the
// logical date, the names of DAG and task, and the number of the try. The provider also uses
// two values that are not in the environment. One is the index of a mapped task, so the
// parent is right only for tasks that are not mapped. The other is a namespace in
// airflow.cfg, which OPENLINEAGE_NAMESPACE must repeat. Without a logical date, airflowParent
// returns nil.
func airflowParent() facets {
	dag, task, try := os.Getenv("AIRFLOW_CTX_DAG_ID"), os.Getenv("AIRFLOW_CTX_TASK_ID"), os.Getenv("AIRFLOW_CTX_TRY_NUMBER")
	date := os.Getenv("AIRFLOW_CTX_LOGICAL_DATE")
	if date == "" {
		date = os.Getenv("AIRFLOW_CTX_EXECUTION_DATE") // older versions of Airflow set this variable
	}
	at, err := time.Parse(time.RFC3339, date)
	if dag == "" || task == "" || try == "" || err != nil {
		return nil
	}
	space := os.Getenv("AIRFLOW__OPENLINEAGE__NAMESPACE")
	if space == "" {
		space = namespace("default")
	}
	const notMapped = "-1"
	name := dag + "." + task
	return parentFacet(space, name, staticUUID(at, space+"."+name+"."+try+"."+notMapped).String())
}

// staticUUID returns the UUID that OpenLineage's Python client makes of a time and a name. The
// UUID has version 7, with a hash of both in place of the random bits.
func staticUUID(at time.Time, name string) uuid.UUID {
	at = at.UTC().Truncate(time.Microsecond)
	written := at.Format("2006-01-02T15:04:05")
	if at.Nanosecond() != 0 {
		written = at.Format("2006-01-02T15:04:05.000000")
	}
	sum := sha1.Sum([]byte(written + "+00:00" + name))
	// Python computes with seconds as a float, which may give a millisecond less.
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
