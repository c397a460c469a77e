package manifest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Names in a destination, and of documents.
const (
	SuccessName = "_SUCCESS"
	LockName    = "_lock"
	// WorkName is the directory of unfinished work. In its directories, the manifest of an
	// output that is being published is named PendingName, a dash and a number. Directories
	// whose names begin with StagedPrefix, which hold the work of a plan, or with
	// TrashPrefix, which are being removed, have no such manifest.
	WorkName     = ".rowtocol"
	PendingName  = "pending"
	StagedPrefix = "plan-"
	TrashPrefix  = "trash-"
	PlanName     = "plan.json"
)

// Directories of published files other than parts: copies of damaged bytes, and files
// made from side files. In them, each output has a directory named after its ID.
const (
	QuarantineDir = "_quarantine"
	IndexDir      = "_index"
)

// aside is a kind of published files other than parts.
type aside struct {
	dir     string            // where they are published
	prefix  string            // of their staged names: an ID, "-", and a name follow
	pattern lazyregexp.Regexp // of that name
}

var (
	quarantine = aside{QuarantineDir, "quarantine-", lazyregexp.New(`^\d{5,9}-[^/\x00]{0,128}@\d{1,19}-\d{1,19}$`)}
	index      = aside{IndexDir, "index-", lazyregexp.New(`^` + fileNames + `(/` + fileNames + `)?$`)}
	asides     = []aside{quarantine, index}
)

// staged reports whether name is that of a file that waits to be published.
func (a aside) staged(name string) bool {
	name, ok := cutAttempt(name, a.prefix)
	return ok && a.pattern.MatchString(name)
}

// published reports whether name is that of a file of the output id.
func (a aside) published(name, id string) bool {
	rest, ok := strings.CutPrefix(name, a.dir+"/"+id+"/")
	return ok && a.pattern.MatchString(rest)
}

// IsAside reports whether a name in a destination is that of a directory of
// published files other than parts.
func IsAside(name string) bool {
	return slices.ContainsFunc(asides, func(a aside) bool { return a.dir == name })
}

const (
	stagedSide = "side-"
	idLength   = 16
	// MaxSequence is the highest number of an output. It has eight digits, so that the
	// names of increments sort by their numbers.
	MaxSequence = 99_999_999
	// maxBase bounds the bytes of an input's name in the name of a copy of its
	// damaged bytes: file systems allow names of 255 bytes.
	maxBase = 128
)

// NewID returns a random ID, such as that of an output or of an attempt at a task.
func NewID() string {
	var b [idLength / 2]byte
	_, _ = rand.Read(b[:]) // crypto/rand does not fail
	return hex.EncodeToString(b[:])
}

// IsID reports whether s is an ID as NewID makes them.
func IsID(s string) bool { return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == "" }

// IncrementPrefix begins the names of directories of increments. They do not have the form
// key=value, which Hive, Spark and pyarrow read as a partition.
const IncrementPrefix = "increment-"

// IncrementName returns the name of the directory of an increment: an output next to
// others in one destination, which does not replace them.
func IncrementName(sequence int64, id string) string {
	return fmt.Sprintf("%s%08d-%s", IncrementPrefix, sequence, id)
}

// ParseIncrement returns the arguments of IncrementName; ok is false for other names.
func ParseIncrement(name string) (sequence int64, id string, ok bool) {
	number, id, _ := strings.Cut(strings.TrimPrefix(name, IncrementPrefix), "-")
	sequence, _ = strconv.ParseInt(number, 10, 64) // non-numbers fail the comparison below
	//guard: rejects other names, and a second spelling of an increment's
	if !IsID(id) || sequence > MaxSequence || IncrementName(sequence, id) != name {
		return 0, "", false
	}
	return sequence, id, true
}

// numberPrefix begins the names of the markers that NumberName names.
const numberPrefix = "_increments-"

// NumberName returns the name of the marker of the last number that a destination gave: an
// empty file, which stays when the increment with that number is moved away.
func NumberName(sequence int64) string { return fmt.Sprintf("%s%08d", numberPrefix, sequence) }

// ParseNumber returns the argument of NumberName; ok is false for other names.
func ParseNumber(name string) (sequence int64, ok bool) {
	sequence, _ = strconv.ParseInt(strings.TrimPrefix(name, numberPrefix), 10, 64) // non-numbers fail the comparison below
	//guard: rejects other names, and numbers that no output can have
	if sequence < 1 || sequence > MaxSequence || NumberName(sequence) != name {
		return 0, false
	}
	return sequence, true
}

// TaskName returns the file name of a task's result.
func TaskName(task int) string { return fmt.Sprintf("task-%05d.json", task) }

// TaskNumber returns the argument of TaskName; ok is false for other names.
func TaskNumber(name string) (task int, ok bool) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(name, ".json"), "task-")
	task, err := strconv.Atoi(number)
	return task, ok && err == nil
}

// StagedPart returns the name of the file or the directory of a row group that an
// attempt at a task makes, or of a file in progress. suffix is the format's.
func StagedPart(task, rowGroup int, attempt, suffix string) string {
	return fmt.Sprintf("part-%05d-%d-%s%s", task, rowGroup, attempt, suffix)
}

// InPart returns the name of a file in the directory of a part.
func InPart(part, name string) string { return part + "/" + name }

// IsFileName reports whether a file in the directory of a part may have a name:
// at most 128 letters, digits and ._=-, and not hidden from readers of directories.
func IsFileName(name string) bool { return fileNamePattern.MatchString(name) }

// StagedQuarantine returns the name of the copy of the damaged bytes [start, end) of
// an input that an attempt at a task makes. It has the input's number and file name.
func StagedQuarantine(attempt string, input int, name string, start, end int64) string {
	base := path.Base(name)
	base = base[max(len(base)-maxBase, 0):]
	return fmt.Sprintf("%s%s-%05d-%s@%d-%d", quarantine.prefix, attempt, input, strings.ToValidUTF8(base, ""), start, end)
}

// StagedSide returns the name of a side file that an attempt at a task makes.
// IsFileName must accept name.
func StagedSide(attempt string, task int, name string) string {
	return fmt.Sprintf("%s%s-%05d-%s", stagedSide, attempt, task, name)
}

// SideName returns the name in a name that StagedSide returned, or an empty string.
func SideName(staged string) string {
	rest, _ := cutAttempt(staged, stagedSide)
	_, name, _ := strings.Cut(rest, "-")
	return name
}

// StagedIndex returns the name of a file made from side files, or of a directory of such
// files. IsFileName must accept name.
func StagedIndex(attempt, name string) string { return index.prefix + attempt + "-" + name }

// Published returns the name, relative to the destination, of a staged file in the
// output with an ID.
func Published(staged, id string) string {
	for _, a := range asides {
		if rest, ok := strings.CutPrefix(staged, a.prefix); ok {
			return path.Join(a.dir, id, rest[min(idLength+1, len(rest)):])
		}
	}
	part, _, _ := strings.Cut(staged, "/")
	if m := partPattern().FindStringSubmatchIndex(part); m != nil {
		return staged[:m[6]] + id + staged[m[7]:]
	}
	return staged // no output lists it
}

// partPattern matches the name of a part: the task, the row group, the ID and the suffix.
var partPattern = lazyregexp.New(`^part-(\d{5,9})-(\d{1,9})-([0-9a-f]{16})(\.[a-z0-9]{1,16})$`)

// fileNames is the pattern of names that IsFileName accepts.
const fileNames = `[A-Za-z0-9=-][A-Za-z0-9._=-]{0,127}`

var fileNamePattern = lazyregexp.New(`^` + fileNames + `$`)

// parsePart returns the submatches of partPattern in the name of a part, or of a file
// in one; nil for other names.
func parsePart(name string) []string {
	part, file, inside := strings.Cut(name, "/")
	//guard: rejects a file outside the part's directory
	if inside && !IsFileName(file) {
		return nil
	}
	return partPattern.FindStringSubmatch(part)
}

func isStagedPart(name string, task, rowGroup int) bool {
	m := parsePart(name)
	return m != nil && m[0] == StagedPart(task, rowGroup, m[3], m[4])
}

func isStagedSide(name string, task int) bool {
	name, ok := cutAttempt(name, stagedSide)
	name, of := strings.CutPrefix(name, fmt.Sprintf("%05d-", task))
	return ok && of && IsFileName(name)
}

// cutAttempt returns the rest of a name after a prefix and the ID of an attempt.
func cutAttempt(name, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, prefix)
	if !ok || len(rest) <= idLength || !IsID(rest[:idLength]) || rest[idLength] != '-' {
		return "", false
	}
	return rest[idLength+1:], true
}

// isPublishedPart reports whether name is that of a file of a part of the output id.
func isPublishedPart(name, id string) bool {
	m := parsePart(name)
	return m != nil && m[3] == id
}

// OutputID returns the ID of the output that a name in a destination belongs to: the
// name of a part, or of a directory in one that IsAside accepts. ok is false for other
// names.
func OutputID(name string) (id string, ok bool) {
	if m := partPattern.FindStringSubmatch(name); m != nil {
		return m[3], true
	}
	dir, rest, _ := strings.Cut(name, "/")
	return rest, IsAside(dir) && IsID(rest)
}
