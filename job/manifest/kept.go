package manifest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

const keptPrefix = "kept-"

// KeptName returns the name, in WorkName, of the document of the kept output with an ID.
func KeptName(id string) string { return keptPrefix + id }

// KeptID returns the ID of a kept output from the entry of its document in WorkName; ok is false
// for other entries.
func KeptID(info store.Info) (id string, ok bool) {
	id, ok = strings.CutPrefix(info.Name, keptPrefix)
	//guard: rejects a link in place of a document, and a name without an ID (tests: ./job/publish)
	if info.Link || !IsID(id) {
		return "", false
	}
	return id, ok
}

// maxKeepSeconds is the longest time for which an output is kept: that of a time.Duration.
const maxKeepSeconds = math.MaxInt64 / int64(time.Second)

// Kept is the document of an output that was replaced. Its files stay where they are for a time,
// because programs may still read them.
type Kept struct {
	*Success
	// KeepSeconds is how long the files stay, from the time when the document was written, by the
	// clock of the storage.
	KeepSeconds int64 `json:"keep_seconds"`
}

// SecondsToKeep returns a duration in seconds, rounded up.
func SecondsToKeep(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return min(seconds, maxKeepSeconds)
}

// checkKeep refuses a time for which no output can be kept.
func checkKeep(seconds int64) error {
	//guard: rejects a negative time, and one that no duration can hold
	if seconds < 0 || seconds > maxKeepSeconds {
		return fmt.Errorf("it keeps an output for %d seconds", seconds)
	}
	return nil
}

// For returns how long the files stay.
func (k *Kept) For() time.Duration { return time.Duration(k.KeepSeconds) * time.Second }

// Encode returns the document's bytes.
func (k *Kept) Encode() ([]byte, error) { return encode(k) }

// DecodeKept reads the document of a kept output.
func DecodeKept(b []byte) (*Kept, error) {
	k := &Kept{Success: new(Success)}
	err := decode("document of a kept output", b, k)
	if err == nil {
		err = k.validate()
	}
	if err == nil {
		err = checkKeep(k.KeepSeconds)
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}
