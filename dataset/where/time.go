package where

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

const day = 24 * time.Hour

// timeUnit is the unit of a type that counts time from 1970 on, or of a time
// of day; 0 of others.
func timeUnit(n *shred.Node) time.Duration {
	switch n.LogicalType() {
	case column.LogicalDate:
		return day
	case column.LogicalTimestampMillis, column.LogicalLocalMillis, column.LogicalTimeMillis:
		return time.Millisecond
	case column.LogicalTimestampMicros, column.LogicalLocalMicros, column.LogicalTimeMicros:
		return time.Microsecond
	case column.LogicalTimestampNanos, column.LogicalLocalNanos:
		return time.Nanosecond
	}
	return 0
}

// local reports whether a type's timestamps are in no stated time zone.
func local(n *shred.Node) bool {
	l := n.LogicalType()
	return l == column.LogicalLocalMillis || l == column.LogicalLocalMicros || l == column.LogicalLocalNanos
}

// dateForm is how a date is written; seconds may have a fraction behind them.
const dateForm = "2006-01-02"

var momentForms = []string{dateForm, dateForm + " 15:04:05", dateForm + " 15:04"}

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

// dateOfDigits is the date that a number such as 20250131 is meant to be, which as
// days would be beyond all years that are written. It is empty for other numbers.
func dateOfDigits(v *value) string {
	if t, err := time.Parse("20060102", fmt.Sprint(v.i)); err == nil && v.kind == kindInt {
		return t.Format(dateForm)
	}
	return ""
}

// parseClock reads a time of day.
func parseClock(s string) (time.Duration, bool) {
	for _, form := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Sub(t.Truncate(day)), true
		}
	}
	return 0, false
}

// moment reads the text behind DATE or TIMESTAMP.
func (p *parser) moment(word string, t token) (*value, error) {
	v := &value{kind: kindMoment}
	var ok bool
	if v.t, v.zoned, ok = parseMoment(t.text); !ok || word == "date" && strings.Contains(t.text, ":") {
		return nil, p.refused(t.pos, "%q is no %s; write %s", t.text, word, map[string]string{
			"date": "DATE '2025-01-31'", "timestamp": "TIMESTAMP '2025-01-31 12:00:00'"}[word])
	}
	return v, nil
}

// since1970 is how many units a time is from 1970 on, exactly.
func since1970(t time.Time, unit time.Duration) *big.Rat {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(time.Second)))
	return new(big.Rat).SetFrac(n.Add(n, big.NewInt(int64(t.Nanosecond()))), big.NewInt(int64(unit)))
}

// compareTimes orders counts of two units, of which one is a multiple of the
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
