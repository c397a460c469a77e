package fields

import (
	"strconv"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// KeyType returns a type that fits all values of a key: long, date or string, as package
// dataset chooses it.
func KeyType(values []manifest.Key) iceberg.Type {
	any, long, date := false, true, true
	for _, k := range values {
		if k.Null {
			continue
		}
		any = true
		_, isLong := parseLong(k.Value)
		_, isDate := parseDate(k.Value)
		long, date = long && isLong, date && isDate
	}
	switch {
	case any && long:
		return iceberg.PrimitiveTypes.Int64
	case any && date:
		return iceberg.PrimitiveTypes.Date
	}
	return iceberg.PrimitiveTypes.String
}

// KeyValue returns the value of a key as a value of a partition; nil for null.
func KeyValue(k manifest.Key, t iceberg.Type) (any, error) {
	if k.Null {
		return nil, nil
	}
	switch t.(type) {
	case iceberg.Int64Type:
		if n, ok := parseLong(k.Value); ok {
			return n, nil
		}
	case iceberg.DateType:
		if days, ok := parseDate(k.Value); ok {
			return iceberg.Date(days), nil
		}
	case iceberg.StringType:
		return k.Value, nil
	}
	return nil, failure.New(failure.Input, "the directory %s=%s: the value is not a %s, as the column of the table is", k.Name, k.Value, t)
}

func parseLong(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s[0] != '+'
}

// parseDate returns a date as days since 1970-01-01.
func parseDate(s string) (days int32, ok bool) {
	t, err := time.Parse(time.DateOnly, s)
	return int32(t.Unix() / (24 * 60 * 60)), err == nil
}
