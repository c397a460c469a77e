package hadoop

import (
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

var attemptPattern = lazyregexp.New(`^attempt(_\d{1,20}_\d{1,10})_m_\d{1,10}_(\d{1,9})$`)

// application returns the ID of an attempt's application. ok is false if attempt is not the
// ID of an attempt.
func application(attempt string) (id string, ok bool) {
	m := attemptPattern.FindStringSubmatch(attempt)
	if m == nil {
		return "", false
	}
	return "application" + m[1], true
}

// Hadoop adds masterStride to the numbers of attempts each time that it restarts the job's
// master. earlierAttempts returns at most maxAttempts attempts for each start of the master.
const (
	masterStride = 1000
	maxAttempts  = 100
)

// earlierAttempts returns the IDs that earlier attempts at the same task can have, at
// most maxPerMaster for each start of the job's master.
func earlierAttempts(attempt string, maxPerMaster int) (ids []string) {
	at := strings.LastIndexByte(attempt, '_') + 1
	number, err := strconv.Atoi(attempt[at:])
	if err != nil {
		return nil
	}
	for n := range min(number, maxAttempts*masterStride) {
		if n%masterStride < min(maxPerMaster, maxAttempts) {
			ids = append(ids, attempt[:at]+strconv.Itoa(n))
		}
	}
	return ids
}
