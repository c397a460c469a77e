package where

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

const day = 24 * time.Hour

// timeUnit returns the unit of a type that counts time, or 0 for other types.
func timeUnit(n *shred.Node) time.Duration { return n.LogicalType().Unit() }

// local reports whether a type's timestamps have no time zone.
func local(n *shred.Node) bool { return n.LogicalType().Local() }

// momentForms are the layouts of dates with and without a time. A fraction may follow
// the seconds.
var momentForms = []string{time.DateOnly, time.DateTime, "2006-01-02 15:04"}

var zones = []string{"Z07:00", "Z0700", "Z07", " Z07:00"}

// parseMoment reads a date, or a date and a time of day.
func parseMoment(s string) (t time.Time, zoned, ok bool) {
	s = strings.Replace(s, "T", " ", 1)
	for _, form := range momentForms {
		if t, err := column.ParseTime(form, s); err == nil {
			return t, false, true
		}
	}
	for _, form := range momentForms[1:] {
		for _, zone := range zones {
			if t, err := column.ParseTime(form+zone, s); err == nil {
				return t, true, true
			}
		}
	}
	return t, false, false
}

// dateOfDigits returns the date that a number such as 20250131 probably means: as a number of
// days it would be out of range. For other numbers it returns "".
func dateOfDigits(v *value) string {
	if t, err := time.Parse("20060102", fmt.Sprint(v.i)); err == nil && v.kind == kindInt {
		return t.Format(time.DateOnly)
	}
	return ""
}

// parseClock reads a time of day.
func parseClock(s string) (time.Duration, bool) {
	for _, form := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Sub(t.Truncate(day)), true
		}
	}
	return 0, false
}

// moment reads the text after DATE or TIMESTAMP.
func (p *parser) moment(word string, t token) (*value, error) {
	v := &value{kind: kindMoment}
	var ok bool
	if v.t, v.zoned, ok = parseMoment(t.text); !ok || word == "date" && strings.Contains(t.text, ":") {
		return nil, p.refused(t.pos, "%q is not a %s; write %s", t.text, word, map[string]string{
			"date": "DATE '2025-01-31'", "timestamp": "TIMESTAMP '2025-01-31 12:00:00'"}[word])
	}
	return v, nil
}

// compareTimes compares a units of aUnit with b units of bUnit. One unit is a multiple of the
// other.
func compareTimes(a, b int64, aUnit, bUnit time.Duration) int {
	if aUnit < bUnit {
		return -compareTimes(b, a, bUnit, aUnit)
	}
	ratio := int64(aUnit / bUnit)
	floor := b / ratio
	if b%ratio < 0 {
		floor--
	}
	switch {
	case a < floor || a == floor && b != floor*ratio:
		return -1
	case a > floor:
		return 1
	}
	return 0
}
