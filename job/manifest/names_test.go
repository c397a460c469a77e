package manifest

import (
	"strings"
	"testing"
)

// isPublished reports whether name is a published name of a file of any kind.
func isPublished(name, id string) bool {
	return isPublishedPart(name, id) || quarantine.published(name, id) || index.published(name, id)
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 300) + "é.avro"
	for _, name := range []string{
		StagedPart(0, 0, attempt, ".trv"), StagedPart(123456, 17, attempt, ".trv"),
		StagedQuarantine(attempt, 7, "hdfs://nn/a/b c.avro", 0, 1<<62), StagedQuarantine(attempt, 0, long, 1, 2),
		StagedIndex(attempt, "id.hfile"), InPart(StagedIndex(attempt, "id=2Cdate"), "00000.hfile"),
	} {
		published := Published(name, output)
		if len(name) > 255 || !isPublished(published, output) || isPublished(published, attempt) || isPublished(name, attempt) || isPublished(name, output) {
			t.Errorf("%s is published as %s", name, published)
		}
		if Published(Published(name, attempt), output) != published && strings.HasPrefix(name, "part-") {
			t.Errorf("%s depends on the attempt", published)
		}
	}
	for name, want := range map[string]bool{
		"part-00000-0-" + output + ".trv":     true,
		"_quarantine/" + output:               true,
		StagedPart(0, 0, output, ".trv"):      false,
		"part-00000-0-" + output:              false,
		"part-00000.trv":                      false,
		"part-00000-" + output + ".trv":       false,
		"part-00000-0-" + output + ".trv/x":   false,
		"part-00000-0-00112233445566FF.trv":   false,
		"_quarantine/" + output + "/x":        false,
		"_quarantine/x":                       false,
		"_index/" + output:                    true,
		"_index/" + output + "/x":             false,
		"_indices/" + output:                  false,
		"part-00000-0-" + output + ".trv\x00": false,
	} {
		if id, ok := OutputID(name); ok != want || ok && id != output {
			t.Errorf("%q: %q, %v", name, id, ok)
		}
	}
	for _, suffix := range []string{".trv", ".cfiles", ".hfile", ".parquet"} {
		if name := StagedPart(0, 0, attempt, suffix); strings.HasSuffix(name, suffix) {
			t.Errorf("%s is read by programs that read *%s", name, suffix)
		}
	}
	if got := SideName(StagedSide(attempt, 123456, "keys-1")); got != "keys-1" {
		t.Errorf("a side file's name is %q", got)
	}
	for name, want := range map[string]int{TaskName(0): 0, TaskName(123456): 123456, "task-x.json": -1, "task-5.json": -1, "task-00007": -1, "task--0001.json": -1, PlanName: -1} {
		if n, ok := TaskNumber(name); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s is of task %d, %v", name, n, ok)
		}
	}
	if a, b := NewID(), NewID(); a == b || !IsID(a) {
		t.Errorf("IDs %s, %s", a, b)
	}
}

func TestIncrementNames(t *testing.T) {
	for sequence, want := range map[int64]string{1: "increment-00000001-" + output, 99999999: "increment-99999999-" + output} {
		name := IncrementName(sequence, output)
		number, id, ok := ParseIncrement(name)
		if name != want || number != sequence || id != output || !ok {
			t.Errorf("%s is of increment %d, %s (%v)", name, number, id, ok)
		}
	}
	for _, name := range []string{
		"increment-1-" + output, "increment-000000001-" + output, "increment-00000001-" + output + "/", "increment-00000001-" + strings.ToUpper(output),
		"increment-00000001", "increment=00000001-" + output, "increment-999999999999999999999-" + output, "increment-100000000-" + output,
		"xincrement-00000001-" + output, "00000001-" + output, "increment--0000001-" + output,
	} {
		if _, _, ok := ParseIncrement(name); ok {
			t.Errorf("%s is accepted as the name of an increment", name)
		}
	}
}

func TestNumberNames(t *testing.T) {
	for sequence, want := range map[int64]string{1: "_increments-00000001", 99999999: "_increments-99999999"} {
		if number, ok := ParseNumber(want); NumberName(sequence) != want || number != sequence || !ok {
			t.Errorf("%s is of number %d (%v)", want, number, ok)
		}
	}
	for _, name := range []string{
		"_increments-", "_increments-1", "_increments-00000000", "_increments-000000001", "_increments-100000000", "_increments--0000001",
		"_increments-+0000001", "_increments-0000000a", "increments-00000001", "00000001", "_increments-99999999999999999999",
	} {
		if number, ok := ParseNumber(name); ok {
			t.Errorf("%s is accepted as the marker of number %d", name, number)
		}
	}
}
