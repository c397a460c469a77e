package export

import (
	"math/bits"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/format/column"
)

// appendInteger appends an int or a long of a logical type.
func appendInteger(dst []byte, l column.Logical, v int64) []byte {
	unit := l.Unit()
	switch {
	case unit == 0:
		return appendInt(dst, v)
	case l == column.LogicalDate:
		return appendDate(dst, v)
	case l.Clock():
		return appendTimeOfDay(dst, v, int64(time.Second/unit))
	case l.Local():
		return appendTimestamp(dst, v, int64(time.Second/unit))
	}
	return append(appendTimestamp(dst, v, int64(time.Second/unit)), 'Z')
}

const daySeconds = 24 * 60 * 60

// appendDate appends the date that is v days after 1970-01-01.
func appendDate(dst []byte, v int64) []byte {
	year, month, day := dateOf(v)
	switch {
	case year < 0:
		dst = appendPadded(append(dst, '-'), uint64(-year), 5)
	case year > 9999:
		dst = appendPadded(append(dst, '+'), uint64(year), 5)
	default:
		dst = appendPadded(dst, uint64(year), 4)
	}
	dst = appendPair(append(dst, '-'), month)
	return appendPair(append(dst, '-'), day)
}

// dateOf returns the date in the Gregorian calendar that is v days after 1970-01-01. v is
// less than 2^54 days from it. The calculation is in years that begin in March, so that the
// leap day is their last day.
func dateOf(v int64) (year, month, day int64) {
	const (
		fourYears  = 4*365 + 1
		century    = 25*fourYears - 1
		cycle      = 4*century + 1 // days of 400 years
		marchFirst = 719468        // days from 0000-03-01 to 1970-01-01
	)
	v += marchFirst
	cycles := v / cycle
	if v %= cycle; v < 0 {
		cycles, v = cycles-1, v+cycle
	}
	year = (v - v/(fourYears-1) + v/century - v/(cycle-1)) / 365
	v -= 365*year + year/4 - year/100 // days since March 1
	month = (5*v + 2) / 153           // months since March: each five of them have 153 days
	day = v - (153*month+2)/5 + 1
	year += 400 * cycles
	if month += 3; month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// appendTimestamp appends a time. v is the number of units since 1970, and perSecond the
// number of units per second.
func appendTimestamp(dst []byte, v, perSecond int64) []byte {
	seconds, fraction := v/perSecond, v%perSecond
	if fraction < 0 {
		seconds, fraction = seconds-1, fraction+perSecond
	}
	days := seconds / daySeconds
	if seconds %= daySeconds; seconds < 0 {
		days, seconds = days-1, seconds+daySeconds
	}
	return appendClock(append(appendDate(dst, days), 'T'), seconds, fraction, perSecond)
}

// appendTimeOfDay appends a time of day of v units. perSecond is the number of units per
// second.
func appendTimeOfDay(dst []byte, v, perSecond int64) []byte {
	if v < 0 || v >= daySeconds*perSecond {
		return appendInt(dst, v)
	}
	return appendClock(dst, v/perSecond, v%perSecond, perSecond)
}

// appendClock appends the time of a day. seconds and fraction are since its beginning.
func appendClock(dst []byte, seconds, fraction, perSecond int64) []byte {
	dst = appendPair(dst, seconds/3600)
	dst = appendPair(append(dst, ':'), seconds/60%60)
	dst = appendPair(append(dst, ':'), seconds%60)
	digits := 3
	for ; perSecond > 1000; perSecond /= 1000 {
		digits += 3
	}
	return appendPadded(append(dst, '.'), uint64(fraction), digits)
}

// pairs has the two digits of each number below 100.
const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// appendPair appends a number below 100 as two digits.
func appendPair(dst []byte, v int64) []byte { return append(dst, pairs[2*v], pairs[2*v+1]) }

// appendInt appends an integer.
func appendInt(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst, u = append(dst, '-'), -u
	}
	if u < 10 {
		return append(dst, byte('0'+u))
	}
	return appendDigits(dst, u, digitsOf(u))
}

// digitsOf returns the number of decimal digits of a number, at least 1.
func digitsOf(v uint64) int {
	// 1233/4096 is a little more than the logarithm of 2 to the base of 10.
	n := bits.Len64(v) * 1233 >> 12
	if v >= powers[n] {
		n++
	}
	return max(n, 1)
}

// powers has the powers of 10.
var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// appendPadded appends a number with zeros before it, if it has fewer digits.
func appendPadded(dst []byte, v uint64, digits int) []byte {
	return appendDigits(dst, v, max(digits, digitsOf(v)))
}

// appendDigits appends the last digits of a number.
func appendDigits(dst []byte, v uint64, digits int) []byte {
	dst = slices.Grow(dst, digits)
	from := len(dst)
	dst = dst[:from+digits]
	text := dst[from:]
	for len(text) >= 2 {
		rest := v % 100
		v /= 100
		text[len(text)-1], text[len(text)-2] = pairs[2*rest+1], pairs[2*rest]
		text = text[:len(text)-2]
	}
	if len(text) > 0 {
		text[0] = byte('0' + v%10)
	}
	return dst
}
