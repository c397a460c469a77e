package rowkey

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// AppendValue appends the value of field i from its text, in the form of printed rows: times,
// decimals and UUIDs by their logical type, bytes in base64. A time may also be the stored
// number, and bytes may be hexadecimal digits: x'0aff'.
func (s *Spec) AppendValue(dst []byte, i int, text string) ([]byte, error) {
	f, last := &s.fields[i], i == len(s.fields)-1
	switch {
	case f.kind == shred.KindInt || f.kind == shred.KindLong:
		n, ok := f.parseInteger(text)
		if !ok {
			return nil, f.wrong(text)
		}
		return appendInteger(dst, n), nil
	case f.float():
		bits := 64
		if f.kind == shred.KindFloat {
			bits = 32
		}
		d, err := strconv.ParseFloat(text, bits)
		if err != nil || strings.ContainsAny(text, "_xX") { // Go's own forms of numbers
			return nil, f.wrong(text)
		}
		return appendDouble(dst, d), nil
	case f.kind == shred.KindBoolean:
		switch text {
		case "true":
			return append(dst, 1), nil
		case "false":
			return append(dst, 0), nil
		}
		return nil, f.wrong(text)
	case f.decimal():
		v, ok := f.parseDecimal(text)
		if !ok {
			return nil, f.wrong(text)
		}
		return appendDecimal(dst, v), nil
	}
	v, err := f.parseText(text, false)
	if err != nil {
		return nil, err
	}
	return appendText(dst, v, last), nil
}

func (f *field) float() bool { return f.kind == shred.KindFloat || f.kind == shred.KindDouble }

// wrong returns the error for a text that is not a value of the field.
func (f *field) wrong(text string) error {
	example := ""
	if layout := f.logical.Layout(); layout != "" {
		example = ", such as " + time.Date(2025, 1, 31, 12, 30, 0, 0, time.UTC).Format(layout) + " or the number that is stored"
	} else if f.decimal() {
		example = fmt.Sprintf(" with up to %d digits after the point", f.scale)
	}
	return fmt.Errorf("%s has the type %s%s; %s is not such a value", f.path, f.name(), example, shown(text))
}

// name returns the name of the field's type.
func (f *field) name() string {
	if f.logical != column.LogicalNone {
		return f.logical.String()
	}
	return f.kind.String()
}

// shown returns a text for a message, cut if it is long.
func shown(text string) string {
	const most = 100
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return strconv.Quote(text)
}

// parseInteger parses a number, or a time that is an exact number of its units.
func (f *field) parseInteger(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if unit := f.logical.Unit(); err != nil && unit > 0 {
		moment, err := column.ParseTime(f.logical.Layout(), text)
		if err != nil {
			return 0, false
		}
		if f.logical.Clock() { // a time of day has no year
			moment = time.Unix(0, int64(moment.Sub(moment.Truncate(24*time.Hour))))
		}
		count := column.Units(moment, unit)
		return count.Num().Int64(), count.IsInt() && count.Num().IsInt64()
	}
	return n, err == nil && (f.kind == shred.KindLong || int64(int32(n)) == n)
}

// parseDecimal parses a number, or base64, in which long numbers are printed, and returns the
// unscaled value.
func (f *field) parseDecimal(text string) (unscaled []byte, ok bool) {
	if f.scale <= column.MaxTextScale {
		if n, ok := f.parseNumber(text); ok {
			return column.DecimalOf(n), true
		}
		//guard: refuses a number of too many digits, which would be valid base64
		if strings.Trim(text, "0123456789") == "" {
			return nil, false
		}
	}
	v, err := base64.StdEncoding.DecodeString(text)
	return v, err == nil && (f.scale > column.MaxTextScale || len(v) > column.MaxTextDecimal)
}

// maxDigits bounds a decimal that is written as a number.
const maxDigits = 10_000

// parseNumber parses a number and returns its unscaled value.
func (f *field) parseNumber(text string) (unscaled *big.Int, ok bool) {
	absolute, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(absolute, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > f.scale || len(whole)+f.scale > maxDigits {
		return nil, false
	}
	digits := whole + fraction
	if digits == "" && !strings.Contains(text, "0") || strings.Trim(digits, "0123456789") != "" {
		return nil, false
	}
	n, ok := new(big.Int).SetString("0"+digits+strings.Repeat("0", f.scale-len(fraction)), 10)
	if ok && negative {
		n.Neg(n)
	}
	return n, ok
}

// parseText returns the value of a text for a field of text or bytes. If prefix is set, the
// text is only the beginning of a value.
func (f *field) parseText(text string, prefix bool) (v []byte, err error) {
	switch f.kind {
	case shred.KindEnum:
		if !prefix && !slices.Contains(f.symbols, text) {
			return nil, fmt.Errorf("%s has no symbol %s; it has %s", f.path, shown(text), strings.Join(f.symbols, ", "))
		}
	case shred.KindBytes, shred.KindFixed:
		if digits, ok := strings.CutPrefix(text, "x'"); ok && strings.HasSuffix(digits, "'") {
			v, err = hex.DecodeString(strings.TrimSuffix(digits, "'"))
		} else if f.logical == column.LogicalUUID && (prefix || len(text) == 36) {
			v, err = hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		} else if d, ok := column.ParseDuration(text); ok && f.duration() {
			v = d
		} else {
			v, err = base64.StdEncoding.DecodeString(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is %s, but %s is not; write it as x'0aff' or as it is printed", f.path, f.name(), shown(text))
		}
		if f.kind == shred.KindFixed && !prefix && len(v) != f.size {
			return nil, fmt.Errorf("%s has %d bytes, %s has %d", f.path, f.size, shown(text), len(v))
		}
		return v, nil
	}
	return []byte(text), nil
}
