package manifest

import (
	"strconv"
	"time"
)

// KeyType is a type of the values of a key.
type KeyType int

// The types of keys.
const (
	KeyText KeyType = iota
	KeyLong
	KeyDate
)

// TypeOf returns the type that fits all values of a key. Nulls fit each type; nulls alone are texts.
func TypeOf(values []Key) KeyType {
	any, long, date := false, true, true
	for i := range values {
		k := &values[i]
		if k.Null {
			continue
		}
		any = true
		_, isLong := k.Long()
		_, isDate := k.Date()
		long, date = long && isLong, date && isDate
	}
	switch {
	case any && long:
		return KeyLong
	case any && date:
		return KeyDate
	}
	return KeyText
}

// Long returns the value as an integer. A sign of + is part of a text.
func (k *Key) Long() (n int64, ok bool) {
	n, err := strconv.ParseInt(k.Value, 10, 64)
	return n, err == nil && k.Value[0] != '+'
}

// Date returns the value, such as 2026-01-31, as days since 1970-01-01.
func (k *Key) Date() (days int32, ok bool) {
	t, err := time.Parse(time.DateOnly, k.Value)
	return int32(t.Unix() / (24 * 60 * 60)), err == nil
}
