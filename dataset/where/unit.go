package where

import (
	"strings"
	"time"
)

// unit returns the unit in which a field, or a sum of fields, counts time, or 0 if it does not
// count time.
func (t *translator) unit(n *node) (unit time.Duration, err error) {
	if n.op == opPath {
		x, err := t.single(n)
		if err != nil {
			return 0, err
		}
		return timeUnit(x.field.typ), nil
	}
	if n.op == opBinary && n.text != "+" && n.text != "-" || n.op == opCall && !sameUnit[strings.ToLower(n.text)] {
		return 0, nil
	}
	var first *node
	for _, k := range n.kids {
		u, err := t.unit(k)
		switch {
		case err != nil:
			return 0, err
		//guard: refuses to add days and milliseconds
		case u != 0 && unit != 0 && u != unit:
			return 0, t.otherUnit(first, k, unit, u)
		case u != 0:
			first, unit = k, u
		}
	}
	return unit, nil
}

// sameUnit are the functions whose value has the unit of their arguments.
var sameUnit = map[string]bool{"abs": true, "min": true, "max": true}

// unitNames are the names of the units in messages.
var unitNames = map[time.Duration]string{day: "days", time.Millisecond: "milliseconds", time.Microsecond: "microseconds", time.Nanosecond: "nanoseconds"}

// otherUnit returns the error for two numbers that count time in different units.
func (t *translator) otherUnit(a, b *node, aUnit, bUnit time.Duration) error {
	if aUnit < bUnit {
		a, b, aUnit, bUnit = b, a, bUnit, aUnit
	}
	return t.refused(a, "%s counts %s and %s %s; write (%[1]s) * %[5]d", t.quote(a), unitNames[aUnit], t.quote(b), unitNames[bUnit], aUnit/bUnit)
}
