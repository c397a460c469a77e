package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

func TestPace(t *testing.T) {
	const limit = time.Minute
	for name, tt := range map[string]struct {
		wait  time.Duration // before each
		bytes int64
		fails time.Duration // the approximate time until the error; 0 is never
	}{
		"silence":                   {time.Second, 0, limit},
		"a byte each half second":   {500 * time.Millisecond, 1, limit},
		"less than the least rate":  {time.Second, 1000, limit},
		"the least rate":            {time.Second, leastRate, 0},
		"100 kB/s":                  {10 * time.Millisecond, 1000, 0},
		"1 MB after each long wait": {50 * time.Second, 1 << 20, 0},
	} {
		p := NewPace(limit)
		waited := time.Duration(0)
		for waited < time.Hour && p.Left() > 0 {
			p.Count(tt.wait, tt.bytes)
			waited += tt.wait
		}
		if tt.fails == 0 && waited < time.Hour || tt.fails > 0 && waited != tt.fails {
			t.Errorf("%s: failed after %v, want %v", name, waited, tt.fails)
		}
		if tt.fails > 0 && (!errors.Is(p.Err(), store.ErrUnavailable) || strings.Contains(p.Err().Error(), "no answer") != (tt.bytes == 0)) {
			t.Errorf("%s: %v", name, p.Err())
		}
	}
	p := NewPace(limit)
	p.Count(limit, 1)
	if p.Restart(); p.Left() != limit {
		t.Errorf("%v are left of a new window", p.Left())
	}
}

func TestListing(t *testing.T) {
	for name, tt := range map[string]struct {
		names int // per page
		took  time.Duration
		long  int // bytes of a name
		pages int // accepted before the error; 0: all 100,000
	}{
		"one name each half second": {1, 500 * time.Millisecond, 10, 120},
		"pages of a thousand":       {1000, time.Second, 50, 0},
		"huge names":                {1, time.Second, 100 << 20, 11},
	} {
		l := NewListing(time.Minute)
		text := strings.Repeat("x", tt.long)
		pages := 0
		for pages < 100_000 && (tt.pages > 0 || l.bytes < maxListing/2) {
			for range tt.names {
				l.Add(text)
			}
			pages++
			if err := l.Page(tt.took); err != nil {
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
		}
		if tt.pages > 0 && pages != tt.pages {
			t.Errorf("%s: %d pages, want %d", name, pages, tt.pages)
		}
		if tt.pages == 0 && l.bytes < maxListing/2 {
			t.Errorf("%s: ended after %d pages", name, pages)
		}
	}
}
