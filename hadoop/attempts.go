package hadoop

import (
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

var attemptPattern = lazyregexp.New(`^attempt(_\d{1,20}_\d{1,10})_m_\d{1,10}_(\d{1,9})$`)

// application returns the ID of the application that an attempt is of; ok is false
// for what is no attempt's ID.
func application(attempt string) (id string, ok bool) {
	m := attemptPattern.FindStringSubmatch(attempt)
	if m == nil {
		return "", false
	}
	return "application" + m[1], true
}

// incarnation is by how much the numbers of attempts grow when Hadoop starts the
// job's master again, and maxAttempts how many of each are looked at.
const (
	masterStride = 1000
	maxAttempts  = 100
)

// earlierAttempts are the IDs that earlier attempts at the same task can have, of which
// there were at most so many in each life of the job's master.
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
