package cluster

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// TestHostNames distinguishes clusters whose names never resolved from those that have a
// name that resolved once.
func TestHostNames(t *testing.T) {
	const one, two = "one:8020", "two:8020"
	unknown := func(host string) error {
		return &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	silent := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "one", IsTemporary: true}}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	type attempt struct {
		address string
		err     error
	}
	for name, tt := range map[string]struct {
		attempts []attempt
		want     bool
	}{
		"unknown":                  {[]attempt{{one, unknown("one")}, {two, unknown("TWO.")}}, true},
		"twice":                    {[]attempt{{one, unknown("one")}, {two, unknown("two")}, {one, unknown("one")}}, true},
		"one was not tried":        {[]attempt{{one, unknown("one")}}, false},
		"the other is known":       {[]attempt{{one, unknown("one")}, {two, refused}}, false},
		"known before":             {[]attempt{{one, nil}, {one, unknown("one")}, {two, unknown("two")}}, false},
		"no answer":                {[]attempt{{one, silent}, {two, unknown("two")}}, false},
		"another host has no name": {[]attempt{{one, unknown("kdc")}, {two, unknown("two")}}, false},
		"nothing was tried":        {nil, false},
		"one resolved later":       {[]attempt{{one, unknown("one")}, {one, refused}, {two, unknown("two")}}, false},
		"no answer, then unknown":  {[]attempt{{one, silent}, {one, unknown("one")}, {two, unknown("two")}}, true},
	} {
		var n HostNames
		for _, c := range tt.attempts {
			n.Note(c.address, c.err)
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
