package column

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// AppendUUID appends the text of a UUID of 16 bytes, in lower case. If a damaged value has
// fewer bytes, the text has only these.
func AppendUUID(dst, b []byte) []byte {
	for _, n := range [...]int{4, 2, 2, 2} {
		if len(b) <= n {
			break
		}
		dst, b = append(hex.AppendEncode(dst, b[:n]), '-'), b[n:]
	}
	return hex.AppendEncode(dst, b)
}

// AppendDuration appends the text of a duration of 12 bytes, which has months, days and
// seconds.
func AppendDuration(dst, b []byte) []byte {
	months, days, millis := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	dst = append(strconv.AppendUint(append(dst, 'P'), uint64(months), 10), 'M')
	dst = append(strconv.AppendUint(dst, uint64(days), 10), 'D', 'T')
	dst = append(strconv.AppendUint(dst, uint64(millis/1000), 10), '.')
	rest := millis % 1000
	return append(dst, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10), 'S')
}

// ParseDuration returns the 12 bytes of a duration from a text of AppendDuration.
func ParseDuration(text string) (b []byte, ok bool) {
	var months, days, seconds, millis uint32
	if n, _ := fmt.Sscanf(text, "P%dM%dDT%d.%dS", &months, &days, &seconds, &millis); n != 4 {
		return nil, false
	}
	b = binary.LittleEndian.AppendUint32(nil, months)
	b = binary.LittleEndian.AppendUint32(b, days)
	b = binary.LittleEndian.AppendUint32(b, seconds*1000+millis)
	//guard: refuses other spellings and numbers of more than 32 bits
	if string(AppendDuration(nil, b)) != text {
		return nil, false
	}
	return b, true
}

// Units returns the exact number of units from 1970 to a time. It may be a fraction.
func Units(t time.Time, unit time.Duration) *big.Rat {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(time.Second)))
	return new(big.Rat).SetFrac(n.Add(n, big.NewInt(int64(t.Nanosecond()))), big.NewInt(int64(unit)))
}

// Years of the Gregorian calendar repeat after 400 years.
const (
	cycleYears   = 400
	cycleSeconds = 146_097 * 24 * 60 * 60
)

// ParseTime is like time.Parse, for a layout that begins with the year. It also accepts a year
// with a sign and 5 to 9 digits.
func ParseTime(layout, text string) (time.Time, error) {
	if !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "-") {
		return time.Parse(layout, text)
	}
	digits, rest, _ := strings.Cut(text[1:], "-")
	year, err := strconv.ParseUint(digits, 10, 64)
	//guard: keeps the sum of seconds below 64 bits
	if err != nil || len(digits) < 5 || len(digits) > 9 {
		return time.Time{}, fmt.Errorf("%q has no year of a sign and 5 to 9 digits", text)
	}
	cycles, in := int64(year)/cycleYears, int64(year)%cycleYears
	if text[0] == '-' {
		cycles, in = -cycles, -in
	}
	const base = 5 * cycleYears // makes a year of four digits
	t, err := time.Parse(layout, fmt.Sprintf("%d-%s", base+in, rest))
	if err != nil {
		return t, err
	}
	return time.Unix(t.Unix()+(cycles-base/cycleYears)*cycleSeconds, int64(t.Nanosecond())).UTC(), nil
}
