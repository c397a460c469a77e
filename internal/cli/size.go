package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// ByteSize is a flag value in bytes, written "64MiB".
type ByteSize int64

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// Set implements pflag.Value. A number without a unit is a number of bytes. A unit
// of one letter is refused, because "M" has two meanings.
func (s *ByteSize) Set(text string) error {
	number, scale := strings.TrimSpace(text), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, scale = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && scale == 1 && n >= 0 {
		*s = ByteSize(n)
		return nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" {
		if meant := likelySize(text); meant != "" {
			return fmt.Errorf("%q is not a size; write %s", text, meant)
		}
		return fmt.Errorf("%q is not a size; write sizes like 65536, 64KiB, 1.5GiB", text)
	}
	if n *= scale; n >= math.MaxInt64 {
		return fmt.Errorf("%q is too large", text)
	}
	if n != math.Trunc(n) {
		return fmt.Errorf("%q is not a whole number of bytes", text)
	}
	*s = ByteSize(n)
	return nil
}

// LargeSize is a ByteSize. A small number without a unit is more often meant in MiB.
type LargeSize ByteSize

// leastBare is the least LargeSize without a unit.
const leastBare = 64 << 10

// Set implements pflag.Value.
func (s *LargeSize) Set(text string) error {
	if err := (*ByteSize)(s).Set(text); err != nil {
		return err
	}
	if bare := strings.TrimSpace(text); strings.Trim(bare, "0123456789") == "" && *s > 0 && *s < leastBare {
		return fmt.Errorf("%s is a number of bytes; did you mean %sMiB?", bare, bare)
	}
	return nil
}

// String implements pflag.Value.
func (s *LargeSize) String() string { return ByteSize(*s).String() }

// Type implements pflag.Value.
func (s *LargeSize) Type() string { return "size" }

// looseSize matches common spellings of a size.
var looseSize = lazyregexp.New(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtT])[iI]?[bB]?\s*$`)

// likelySize returns the right spelling of a misspelt size, or "" if it is unclear.
func likelySize(text string) string {
	m := looseSize.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + strings.ToUpper(m[2]) + "iB"
}

// String writes the size in the largest unit that fits it exactly.
func (s ByteSize) String() string { return manifest.SizeText(int64(s)) }

// Type implements pflag.Value.
func (s ByteSize) Type() string { return "size" }

// TimeSpan is a flag value that is a duration of at least 0, written "90s".
type TimeSpan time.Duration

// Set implements pflag.Value.
func (d *TimeSpan) Set(text string) error {
	v, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a duration; write durations like 90s, 10m, 24h", text)
	case v < 0:
		return fmt.Errorf("%q is negative", text)
	}
	*d = TimeSpan(v)
	return nil
}

// String implements pflag.Value. pflag shows no default if it is "0".
func (d *TimeSpan) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (d *TimeSpan) Type() string { return "duration" }

// Plural returns a text such as "2 rows". one is a regular noun in the singular.
func Plural[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// PluralBetween is plural for a range of numbers.
func PluralBetween(least, most int64, one string) string {
	if least == most {
		return Plural(most, one)
	}
	return fmt.Sprintf("%d to %s", least, Plural(most, one))
}

// Span returns the least and the largest value of a property of all things. all must not be
// empty.
func Span[T any](all []T, of func(T) int64) (least, most int64) {
	least, most = of(all[0]), of(all[0])
	for _, x := range all {
		least, most = min(least, of(x)), max(most, of(x))
	}
	return least, most
}

// Between returns a range of sizes as text for people.
func Between(least, most int64) string {
	if Human(least) == Human(most) {
		return Human(most)
	}
	return Human(least) + " to " + Human(most)
}

// Human returns a size in bytes as text for people, with three significant digits.
func Human(n int64) string {
	v, unit := float64(n), "B"
	for i := 0; i < 4 && v >= 1000; i++ {
		v, unit = v/1024, sizeUnits[i].name
	}
	switch {
	case unit == "B":
		return strconv.FormatInt(n, 10) + " B"
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	case v < 100:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}
