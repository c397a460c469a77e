package column

import (
	"bytes"
	"testing"
	"time"
)

// A duration is read as it is printed, and in no other spelling.
func TestParseDuration(t *testing.T) {
	for _, b := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x01\x00\x00\x00\x02\x00\x00\x00\xbc\x0b\x00\x00"} {
		text := string(AppendDuration(nil, []byte(b)))
		if got, ok := ParseDuration(text); !ok || !bytes.Equal(got, []byte(b)) {
			t.Errorf("%s: % x, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "P1M", "P1M2DT3S", "1M2DT3.000S", // not of the form
		"P01M2DT3.000S", "P+1M2DT3.000S", "P 1M2DT3.000S", "P1M2DT3.0S", "P1M2DT3.000S ", "P1M2DT3.000Sx", "P1M2DT3.1000S",
		"P1M2DT4294968.000S", "P4294967296M2DT3.000S", "P1M2DT4294967.296S", // beyond 32 bits
	} {
		if got, ok := ParseDuration(text); ok {
			t.Errorf("%q: % x", text, got)
		}
	}
}

// A year has a sign and 5 to 9 digits, or four digits alone.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"2025-01-31": 1738281600, "0000-01-01": -62167219200, "+10000-01-01": 253402300800,
		"-00001-12-31": -62167305600, "+02000-02-29": 951782400, "+999999999-12-31": 31556889832694400,
	} {
		if got, err := ParseTime(time.DateOnly, text); err != nil || got.Unix() != want {
			t.Errorf("%s: %d, %v", text, got.Unix(), err)
		}
	}
	for _, text := range []string{
		"", "+", "+-01-01", "+2025-01-31", "-2025-01-31", "+1000000000-01-01", "+00000010000-01-01",
		"+1_000-01-01", "+0x10000-01-01", "++10000-01-01", "+1e400-01-01", "+10001-02-29", "+10000",
	} {
		if got, err := ParseTime(time.DateOnly, text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
