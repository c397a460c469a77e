package fields

import (
	"github.com/apache/iceberg-go"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// KeyType returns a type that fits all values of a key.
func KeyType(values []manifest.Key) iceberg.Type {
	switch manifest.TypeOf(values) {
	case manifest.KeyLong:
		return iceberg.PrimitiveTypes.Int64
	case manifest.KeyDate:
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
		if n, ok := k.Long(); ok {
			return n, nil
		}
	case iceberg.DateType:
		if days, ok := k.Date(); ok {
			return iceberg.Date(days), nil
		}
	case iceberg.StringType:
		return k.Value, nil
	}
	return nil, failure.New(failure.Input, "the directory %s=%s: the value is not a %s, as the column of the table is", k.Name, k.Value, t)
}
