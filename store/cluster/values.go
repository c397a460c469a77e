package cluster

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Int returns the value of a key, or def if the key is not set or its value is not a number. 0x
// starts a hexadecimal number.
func (c *Conf) Int(key string, def int) int {
	value, base := c.String(key, ""), 10
	if hex, ok := strings.CutPrefix(strings.ToLower(value), "0x"); ok {
		value, base = hex, 16
	}
	n, err := strconv.ParseInt(value, base, strconv.IntSize)
	if err != nil {
		return def
	}
	return int(n)
}

// Bool reports whether the value of a key is true. It returns def if the value is neither true nor
// false.
func (c *Conf) Bool(key string, def bool) bool {
	switch strings.ToLower(c.String(key, "")) {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}

var durationValue = lazyregexp.New(`^(\d+)\s*(ns|us|ms|s|m|h|d)?$`)

var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond,
	"us": time.Microsecond,
	"":   time.Millisecond,
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
	"d":  24 * time.Hour,
}

// Duration returns the duration of a key, or def if the key is not set or its value is not a
// duration. 0 also means def: in Hadoop it means no limit, but nothing may hang here. A duration is
// a number of milliseconds, or a number with a unit as in 30s. Do not use Duration for keys whose
// plain numbers are seconds.
func (c *Conf) Duration(key string, def time.Duration) time.Duration {
	m := durationValue.FindStringSubmatch(strings.ToLower(c.String(key, "")))
	if m == nil {
		return def
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := durationUnits[m[2]]
	if err != nil || n == 0 || n > math.MaxInt64/int64(unit) {
		return def
	}
	return time.Duration(n) * unit
}

const defaultUmask = 0o022

// Umask returns the permission bits that new files and directories must not have. It reads
// fs.permissions.umask-mode, which is octal or has the permissions that remain
// (u=rwx,g=r-x,o=). If that is not set or not valid, it returns 022.
func (c *Conf) Umask() uint32 {
	value := c.String("fs.permissions.umask-mode", "")
	if bits, err := strconv.ParseUint(value, 8, 32); err == nil && bits <= 0o777 {
		return uint32(bits)
	}
	if left, ok := symbolicMode(value); ok {
		return 0o777 &^ left
	}
	return defaultUmask
}

var modeClause = lazyregexp.New(`^([ugoa]*)=([rwx-]*)$`)

// symbolicMode parses u=rwx,g=rx,o= into permission bits. Classes of users without a
// clause have no permissions.
func symbolicMode(s string) (left uint32, ok bool) {
	for _, clause := range strings.Split(s, ",") {
		m := modeClause.FindStringSubmatch(strings.TrimSpace(clause))
		if m == nil {
			return 0, false
		}
		whom := m[1]
		if whom == "" || strings.Contains(whom, "a") {
			whom = "ugo"
		}
		for _, who := range whom {
			shift := 3 * strings.IndexRune("ogu", who)
			left &^= 7 << shift
			for bit, letter := range "xwr" {
				if strings.ContainsRune(m[2], letter) {
					left |= 1 << (shift + bit)
				}
			}
		}
	}
	return left, true
}
