package witness

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parse returns a schema's JSON.
func parse(schema string) (tree any, err error) {
	dec := json.NewDecoder(strings.NewReader(schema))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return tree, nil
}

// reduce drops attributes everywhere in a schema.
func reduce(schema string, attributes []string) (string, error) {
	tree, err := parse(schema)
	if err != nil {
		return "", err
	}
	reduceTree(tree, attributes)
	b, err := json.Marshal(tree)
	return string(b), err
}

var (
	// noise lists attributes that do not change rows, but for which decoders reject valid
	// files or lose bits.
	noise = []string{"logicalType", "precision", "scale", "doc", "order"}
	// forReaders lists attributes that matter only in a schema to which rows are resolved.
	forReaders = []string{"default", "aliases"}
)

// unitAttribute is an attribute of a time in a schema for hamba: the number of units in a
// second. hamba keeps unknown attributes.
const unitAttribute = "perSecond"

var perSecond = map[string]int64{
	"timestamp-millis": 1e3, "timestamp-micros": 1e6, "timestamp-nanos": 1e9,
	"local-timestamp-millis": 1e3, "local-timestamp-micros": 1e6, "local-timestamp-nanos": 1e9,
	"time-millis": 1e3, "time-micros": 1e6,
}

// reduceForReader drops noise like reduce, but keeps the units of times.
func reduceForReader(schema string) (string, error) {
	tree, err := parse(schema)
	if err != nil {
		return "", err
	}
	markUnits(tree)
	b, err := json.Marshal(tree)
	if err != nil {
		return "", err
	}
	return reduce(string(b), noise)
}

func markUnits(tree any) {
	switch t := tree.(type) {
	case []any:
		for _, branch := range t {
			markUnits(branch)
		}
	case map[string]any:
		logical, _ := t["logicalType"].(string)
		if units := perSecond[logical]; units > 0 && (t["type"] == "long" || t["type"] == "int" && logical == "time-millis") {
			t[unitAttribute] = units
		}
		for _, key := range []string{"type", "items", "values", "fields"} {
			markUnits(t[key])
		}
	}
}

// timesAsLongs returns a schema in which int times become longs.
func timesAsLongs(schema string) (string, error) {
	tree, err := parse(schema)
	if err != nil {
		return "", err
	}
	widenTimes(tree)
	b, err := json.Marshal(tree)
	return string(b), err
}

func widenTimes(tree any) {
	switch t := tree.(type) {
	case []any:
		for _, branch := range t {
			widenTimes(branch)
		}
	case map[string]any:
		if t["type"] == "int" && t[unitAttribute] != nil {
			t["type"] = "long"
		}
		for _, key := range []string{"type", "items", "values", "fields"} {
			widenTimes(t[key])
		}
	}
}

func reduceTree(tree any, attributes []string) {
	switch t := tree.(type) {
	case []any:
		for _, branch := range t {
			reduceTree(branch, attributes)
		}
	case map[string]any:
		for _, key := range attributes {
			delete(t, key)
		}
		for _, key := range []string{"type", "items", "values", "fields"} {
			reduceTree(t[key], attributes)
		}
	}
}

// maxFixed is the size of the largest fixed type that hamba may decode. hamba allocates the
// size of a fixed type.
const maxFixed = 16 << 20

// checkNumbers rejects a schema with too large fixed types, or with defaults that hamba would
// round: hamba keeps numbers in defaults as floating point.
func checkNumbers(tree any, inDefault bool) error {
	switch t := tree.(type) {
	case []any:
		for _, v := range t {
			if err := checkNumbers(v, inDefault); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, v := range t {
			if size, ok := v.(json.Number); ok && key == "size" && !inDefault && !believed(size) {
				return fmt.Errorf("a fixed type of %s bytes", size)
			}
			if err := checkNumbers(v, inDefault || key == "default"); err != nil {
				return err
			}
		}
	case json.Number:
		i, err := t.Int64()
		if inDefault && (errors.Is(err, strconv.ErrRange) || i > 1<<53 || i < -1<<53) {
			return fmt.Errorf("the default %s would be rounded", t)
		}
	}
	return nil
}

func believed(size json.Number) bool {
	f, err := size.Float64()
	return err == nil && f <= maxFixed
}

// mapAttribute marks the records that stand for maps in a schema for hamba.
const mapAttribute = "ofMap"

// mapsAsArrays replaces each map in a schema by a record with an array of entries. The record
// is needed in a union that also has an array. The encoding is the same, and a map that has
// the same key twice loses no value.
func mapsAsArrays(tree any, n *int) any {
	switch t := tree.(type) {
	case []any:
		for i := range t {
			t[i] = mapsAsArrays(t[i], n)
		}
	case map[string]any:
		for _, key := range []string{"type", "items", "values"} {
			if sub, ok := t[key]; ok {
				t[key] = mapsAsArrays(sub, n)
			}
		}
		if fields, ok := t["fields"].([]any); ok {
			mapsAsArrays(fields, n)
		}
		if t["type"] == "map" {
			*n++
			entry := map[string]any{"type": "record", "name": fmt.Sprintf("Entry_%d", *n), mapAttribute: true, "fields": []any{
				map[string]any{"name": "key", "type": "string"},
				map[string]any{"name": "value", "type": t["values"]},
			}}
			return map[string]any{"type": "record", "name": fmt.Sprintf("Map_%d", *n), mapAttribute: true, "fields": []any{
				map[string]any{"name": "entries", "type": map[string]any{"type": "array", "items": entry}},
			}}
		}
	}
	return tree
}
