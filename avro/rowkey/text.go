package rowkey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Range is the keys from From up to, but not including, To. A nil To is no bound.
type Range struct{ From, To []byte }

// after returns the first key after all keys that begin with a prefix, or nil if there is
// no such key.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		if end[len(end)-1]++; end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// beginning returns the range of the keys that begin with a prefix.
func beginning(prefix []byte) Range { return Range{prefix, after(prefix)} }

// CutRange splits a text at the .. between two keys, which may be empty. A key that
// contains .. or has a dot next to the .. must be written as a JSON array. ok is false if
// the text has no such .., or several.
func CutRange(text string) (from, to string, ok bool) {
	at := strings.Index(text, "..")
	if strings.HasPrefix(text, "[") {
		d := json.NewDecoder(strings.NewReader(text))
		var key json.RawMessage
		if d.Decode(&key) == nil && strings.HasPrefix(text[d.InputOffset():], "..") {
			at = int(d.InputOffset())
		}
	}
	if at < 0 {
		return "", "", false
	}
	from, to = text[:at], text[at+len(".."):]
	isArray := strings.HasPrefix(to, "[") && json.Valid([]byte(to))
	//guard: refuses a text that would be cut inside a key
	if strings.HasPrefix(to, ".") || strings.Contains(to, "..") && !isArray {
		return "", "", false
	}
	return from, to, true
}

// Exactly returns the range of the keys with the values in text. For a key of several
// fields, text has the values of the first fields, as a JSON array or joined by commas. For a
// key of one field, it has the value, which may be in a JSON array too.
func (s *Spec) Exactly(text string) (Range, error) {
	values, err := s.split(text)
	if err != nil {
		return Range{}, err
	}
	return s.exactly(values)
}

func (s *Spec) exactly(values []string) (Range, error) {
	key, err := s.key(values)
	if err != nil {
		return Range{}, err
	}
	if len(values) < len(s.fields) {
		return beginning(key), nil
	}
	return Range{key, append(bytes.Clone(key), 0)}, nil
}

// Beginning returns the range of the keys with the values in text, where the last of these
// values is only the beginning of the key's value.
func (s *Spec) Beginning(text string) (Range, error) {
	values, err := s.split(text)
	if err != nil {
		return Range{}, err
	}
	i := len(values) - 1
	if !s.fields[i].text() {
		return Range{}, fmt.Errorf("%s is of the type %s, which has no prefixes", s.fields[i].path, s.fields[i].name())
	}
	key, err := s.key(values[:i])
	if err != nil {
		return Range{}, err
	}
	prefix, err := s.fields[i].parseText(values[i], true)
	if err != nil {
		return Range{}, err
	}
	if i == len(s.fields)-1 {
		return beginning(append(key, prefix...)), nil
	}
	return beginning(appendEscaped(key, prefix)), nil
}

// Between returns the range from the keys of one text to the keys of another text, both
// included. An empty text is no bound. NaN, which sorts after all numbers, is rejected as a
// bound. No range contains a NaN in the first field.
func (s *Spec) Between(from, to string) (r Range, err error) {
	if s.fields[0].float() {
		r.To = appendDouble(nil, math.NaN())
	}
	if from != "" {
		first, err := s.bound(from)
		if err != nil {
			return r, err
		}
		r.From = first.From
	}
	if to != "" {
		last, err := s.bound(to)
		if err != nil {
			return r, err
		}
		r.To = last.To
	}
	if r.To != nil && bytes.Compare(r.From, r.To) >= 0 {
		return r, fmt.Errorf("there are no keys from %s to %s", shown(from), shown(to))
	}
	return r, nil
}

// bound is Exactly for a bound of a range.
func (s *Spec) bound(text string) (Range, error) {
	values, err := s.split(text)
	if err != nil {
		return Range{}, err
	}
	for i, value := range values {
		//guard: refuses a range of durations, which have no order
		if s.fields[i].duration() {
			return Range{}, fmt.Errorf("%s: durations have no order and no ranges; give one as a key", s.fields[i].path)
		}
		//guard: refuses NaN as a bound, because no number is less or greater than NaN
		if d, err := strconv.ParseFloat(value, 64); err == nil && math.IsNaN(d) && s.fields[i].float() {
			return Range{}, fmt.Errorf("%s: NaN is in no range; give it as a key", s.fields[i].path)
		}
	}
	return s.exactly(values)
}

// split splits a text into the values of the first fields.
func (s *Spec) split(text string) ([]string, error) {
	if len(s.fields) == 1 {
		if strings.HasPrefix(text, "[") {
			if values, err := splitJSON(text); err == nil && len(values) == 1 {
				return values, nil
			}
		}
		return []string{text}, nil
	}
	values := strings.Split(text, ",")
	if strings.HasPrefix(text, "[") {
		var err error
		if values, err = splitJSON(text); err != nil {
			return nil, fmt.Errorf("key %s: %w", shown(text), err)
		}
	}
	if len(values) == 0 || len(values) > len(s.fields) {
		return nil, fmt.Errorf("key %s has %d values, the fields are %s", shown(text), len(values), s)
	}
	return values, nil
}

// splitJSON returns the texts of the strings, numbers and booleans of a JSON array.
func splitJSON(text string) (values []string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var all []any
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("not a JSON array: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is text after the JSON array")
	}
	for _, v := range all {
		switch v := v.(type) {
		case string:
			values = append(values, v)
		case json.Number:
			values = append(values, v.String())
		case bool:
			values = append(values, strconv.FormatBool(v))
		case nil:
			return nil, fmt.Errorf("a key has no null")
		default:
			return nil, fmt.Errorf("%v is not a string, a number or a boolean", v)
		}
	}
	return values, nil
}

// key returns the key of the values, or its beginning if there are fewer values than fields.
func (s *Spec) key(values []string) (key []byte, err error) {
	for i, text := range values {
		if key, err = s.AppendValue(key, i, text); err != nil {
			return nil, err
		}
	}
	return key, nil
}
