package manifest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Names of files and directories in a destination.
const (
	SuccessName = "_SUCCESS"
	LockName    = "_lock"
	// WorkName is the directory of unfinished work. The names below are in it.
	WorkName = ".rowtocol"
	// PendingName begins the name of the manifest of an output that is being published, such as
	// pending-3. The manifest is in the directory of a holder: a process that took the lock.
	PendingName = "pending"
	// StagedPrefix begins the name of the directory with the work of a plan's tasks.
	StagedPrefix = "plan-"
	// TrashPrefix begins the names of directories that are being removed. Manifests in these
	// directories do not count.
	TrashPrefix = "trash-"
	// PlanName is the file of the plan, in the directory with the work of its tasks.
	PlanName = "plan.json"
)

// Directories of published files other than parts: copies of damaged bytes, and key indexes,
// which are made from side files (see StagedSide). In both, each output has a directory of its
// own, which is named after its ID.
const (
	QuarantineDir = "_quarantine"
	IndexDir      = "_index"
)

// extraKind is a kind of published files that are not parts.
type extraKind struct {
	dir     string            // directory in the destination
	prefix  string            // a staged name has this prefix, then an ID, "-" and the rest
	pattern lazyregexp.Regexp // pattern of the rest; a published name ends in the same rest
}

var (
	quarantine = extraKind{QuarantineDir, "quarantine-", lazyregexp.New(`^\d{5,9}-[^/\x00]{0,128}@\d{1,19}-\d{1,19}$`)}
	index      = extraKind{IndexDir, "index-", lazyregexp.New(`^` + fileNames + `(/` + fileNames + `)?$`)}
	extraKinds = []extraKind{quarantine, index}
)

// staged reports whether name is the staged name of a file of this kind.
func (k extraKind) staged(name string) bool {
	name, ok := cutID(name, k.prefix)
	return ok && k.pattern.MatchString(name)
}

// published reports whether name is the published name of a file of this kind in the output
// with this ID.
func (k extraKind) published(name, id string) bool {
	rest, ok := strings.CutPrefix(name, k.dir+"/"+id+"/")
	return ok && k.pattern.MatchString(rest)
}

// IsAside reports whether name is QuarantineDir or IndexDir, the directories of published
// files that are not parts.
func IsAside(name string) bool {
	return slices.ContainsFunc(extraKinds, func(k extraKind) bool { return k.dir == name })
}

const (
	stagedSide   = "side-"
	stagedEnding = ".staged" // ends the staged names of parts
	idLength     = 16
	// MaxSequence is the highest number of an output. It has eight digits, so that the
	// names of increments sort by their numbers.
	MaxSequence = 99_999_999
	// maxBase is the most bytes that the name of a quarantine copy takes from the file name of the
	// input. File systems allow names of 255 bytes.
	maxBase = 128
)

// NewID returns a random ID, for example for an output or for the name of a staged file.
func NewID() string {
	var b [idLength / 2]byte
	_, _ = rand.Read(b[:]) // crypto/rand does not fail
	return hex.EncodeToString(b[:])
}

// IsID reports whether s has the form of an ID that NewID makes.
func IsID(s string) bool { return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == "" }

// IncrementPrefix begins the names of directories of increments. These names do not have the
// form key=value: Hive, Spark and pyarrow read a directory with a name of that form as a partition.
const IncrementPrefix = "increment-"

// IncrementName returns the name of an increment's directory. An increment is an output that
// does not replace the other outputs of its destination.
func IncrementName(sequence int64, id string) string {
	return fmt.Sprintf("%s%08d-%s", IncrementPrefix, sequence, id)
}

// ParseIncrement returns the arguments of IncrementName; ok is false for other names.
func ParseIncrement(name string) (sequence int64, id string, ok bool) {
	number, id, _ := strings.Cut(strings.TrimPrefix(name, IncrementPrefix), "-")
	sequence, _ = strconv.ParseInt(number, 10, 64) // non-numbers fail the comparison below
	//guard: rejects other names, and another spelling of an increment's name
	if !IsID(id) || sequence > MaxSequence || IncrementName(sequence, id) != name {
		return 0, "", false
	}
	return sequence, id, true
}

// numberPrefix begins the names of markers: see NumberName.
const numberPrefix = "_increments-"

// NumberName returns the name of the marker: an empty file that records the last number given
// to an increment. Thanks to the marker, the number is not given again even if the increment is
// moved away.
func NumberName(sequence int64) string { return fmt.Sprintf("%s%08d", numberPrefix, sequence) }

// ParseNumber returns the argument of NumberName; ok is false for other names.
func ParseNumber(name string) (sequence int64, ok bool) {
	sequence, _ = strconv.ParseInt(strings.TrimPrefix(name, numberPrefix), 10, 64) // non-numbers fail the comparison below
	//guard: rejects other names, and numbers that no increment gets
	if sequence < 1 || sequence > MaxSequence || NumberName(sequence) != name {
		return 0, false
	}
	return sequence, true
}

// TaskName returns the file name of a task's result.
func TaskName(task int) string { return fmt.Sprintf("task-%05d.json", task) }

// TaskNumber returns the argument of TaskName; ok is false for other names.
func TaskNumber(name string) (task int, ok bool) {
	task, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "task-"), ".json")) // non-numbers fail the comparison below
	//guard: rejects other names, and another spelling of a result's name
	if task < 0 || TaskName(task) != name {
		return 0, false
	}
	return task, true
}

// Each staged file has an ID of its own in its name, even if one attempt at a task makes
// several files. The package comment shows the names.

// StagedPart returns the staged name of a row group's file or directory. A file for such a
// directory also has a name of this form until it is complete and is moved into the directory.
// suffix is the suffix of the format. The name does not end in suffix, so that a program that
// reads DEST/**/*.parquet skips staged parts.
func StagedPart(task, rowGroup int, id, suffix string) string {
	return PartName(task, rowGroup, id, suffix) + stagedEnding
}

// PartName returns the published name of a row group's file or directory in the output with this
// ID. suffix is the suffix of the format.
func PartName(task, rowGroup int, id, suffix string) string {
	return fmt.Sprintf("part-%05d-%d-%s%s", task, rowGroup, id, suffix)
}

// InPart returns the name of a file in the directory of a part.
func InPart(part, name string) string { return part + "/" + name }

// IsFileName reports whether name is allowed for a file in the directory of a part: at most
// 128 letters, digits and ._=-, and not hidden from readers of directories.
func IsFileName(name string) bool { return fileNamePattern.MatchString(name) }

// StagedQuarantine returns the staged name of a copy of the damaged bytes [start, end) of an
// input. The staged name has the input's number and the end of the input's file name.
func StagedQuarantine(id string, input int, name string, start, end int64) string {
	base := path.Base(name)
	base = base[max(len(base)-maxBase, 0):]
	return fmt.Sprintf("%s%s-%05d-%s@%d-%d", quarantine.prefix, id, input, strings.ToValidUTF8(base, ""), start, end)
}

// StagedSide returns the staged name of a side file: a file that a sink makes from the rows of
// a task. name is the sink's name for the file, and IsFileName must accept it.
func StagedSide(id string, task int, name string) string {
	return fmt.Sprintf("%s%s-%05d-%s", stagedSide, id, task, name)
}

// SideName returns the sink's name for a side file, from its staged name. For a staged file of
// another kind it returns an empty string.
func SideName(staged string) string {
	rest, _ := cutID(staged, stagedSide)
	_, name, _ := strings.Cut(rest, "-")
	return name
}

// StagedIndex returns the staged name of a key index: a file, or a directory of files, made from
// side files. IsFileName must accept name.
func StagedIndex(id, name string) string { return index.prefix + id + "-" + name }

// Published returns the name that a staged file gets when it is published in the output with
// this ID. The name is relative to the destination or to the directory of an increment.
func Published(staged, id string) string {
	for _, k := range extraKinds {
		if rest, ok := strings.CutPrefix(staged, k.prefix); ok {
			return path.Join(k.dir, id, rest[min(idLength+1, len(rest)):])
		}
	}
	part, _, _ := strings.Cut(staged, "/")
	// A pending manifest of an older program names staged parts without stagedEnding.
	if m := partPattern.FindStringSubmatchIndex(part); m != nil {
		return part[:m[6]] + id + part[m[7]:m[9]] + staged[len(part):]
	}
	return staged // a side file or another name: it is not published
}

// partPattern matches the name of a part: the task, the row group, the ID, the suffix, and
// stagedEnding in a staged name.
var partPattern = lazyregexp.New(`^part-(\d{5,9})-(\d{1,9})-([0-9a-f]{16})(\.[a-z0-9]{1,16})(` + regexp.QuoteMeta(stagedEnding) + `)?$`)

// fileNames is the pattern of names that IsFileName accepts.
const fileNames = `[A-Za-z0-9=-][A-Za-z0-9._=-]{0,127}`

var fileNamePattern = lazyregexp.New(`^` + fileNames + `$`)

// parsePart returns the submatches of partPattern in the name of a part, or of a file in a
// part. It returns nil for other names.
func parsePart(name string) []string {
	part, file, inside := strings.Cut(name, "/")
	//guard: rejects a file outside the part's directory
	if inside && !IsFileName(file) {
		return nil
	}
	return partPattern.FindStringSubmatch(part)
}

// isStagedPart reports whether name is the staged name of a row group's file or directory, or of a
// file in that directory.
func isStagedPart(name string, task, rowGroup int) bool {
	m := parsePart(name)
	return m != nil && m[0] == StagedPart(task, rowGroup, m[3], m[4])
}

// isStagedSide reports whether name is the staged name of a side file of a task.
func isStagedSide(name string, task int) bool {
	name, ok := cutID(name, stagedSide)
	name, sameTask := strings.CutPrefix(name, fmt.Sprintf("%05d-", task))
	return ok && sameTask && IsFileName(name)
}

// cutID returns the rest of a name after prefix, an ID and "-".
func cutID(name, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, prefix)
	if !ok || len(rest) <= idLength || !IsID(rest[:idLength]) || rest[idLength] != '-' {
		return "", false
	}
	return rest[idLength+1:], true
}

// isPublishedPart reports whether name is a part, or a file in a part, of the output with this
// ID.
func isPublishedPart(name, id string) bool {
	m := parsePart(name)
	return m != nil && m[3] == id && m[5] == ""
}

// OutputID returns the ID of the output that a name in a destination belongs to. name is a
// part, or has the form DIR/ID where IsAside accepts DIR. ok is false for other names.
func OutputID(name string) (id string, ok bool) {
	if m := partPattern.FindStringSubmatch(name); m != nil && m[5] == "" {
		return m[3], true
	}
	dir, rest, _ := strings.Cut(name, "/")
	return rest, IsAside(dir) && IsID(rest)
}
