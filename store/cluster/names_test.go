package cluster

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// TestHostNames holds names that never were resolved apart from those that are not just now,
// and from those of which another name node has one.
func TestHostNames(t *testing.T) {
	const one, two = "one:8020", "two:8020"
	unknown := func(host string) error {
		return &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	silent := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "one", IsTemporary: true}}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	type came struct {
		address string
		of      error
	}
	for name, tt := range map[string]struct {
		came []came
		want bool
	}{
		"unknown":                   {[]came{{one, unknown("one")}, {two, unknown("TWO.")}}, true},
		"twice":                     {[]came{{one, unknown("one")}, {two, unknown("two")}, {one, unknown("one")}}, true},
		"one was not tried":         {[]came{{one, unknown("one")}}, false},
		"the other is known":        {[]came{{one, unknown("one")}, {two, refused}}, false},
		"known before":              {[]came{{one, nil}, {one, unknown("one")}, {two, unknown("two")}}, false},
		"no answer":                 {[]came{{one, silent}, {two, unknown("two")}}, false},
		"another host has no name":  {[]came{{one, unknown("kdc")}, {two, unknown("two")}}, false},
		"nothing was tried":         {nil, false},
		"one is known since then":   {[]came{{one, unknown("one")}, {one, refused}, {two, unknown("two")}}, false},
		"no answer, then it is not": {[]came{{one, silent}, {one, unknown("one")}, {two, unknown("two")}}, true},
	} {
		var n HostNames
		for _, c := range tt.came {
			n.Note(c.address, c.of)
		}
		err := n.Judge([]string{one, two}, store.ErrUnavailable)
		if errors.Is(err, store.ErrUnresolved) != tt.want || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var n HostNames
	n.Note(one, unknown("one"))
	if err := n.Judge([]string{one}, store.ErrNotExist); err != store.ErrNotExist {
		t.Errorf("another error became %v", err)
	}
}
