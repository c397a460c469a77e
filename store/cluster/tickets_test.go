package cluster

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
)

var errNoAnswer = errors.New("away")

// fakeSource provides tickets that are valid for an hour.
type fakeSource struct {
	requested atomic.Int32 // new tickets
	fails     atomic.Bool
	late      time.Duration // age of its new tickets
}

func (s *fakeSource) realms() (*realms, error) { return &realms{config: config.New()}, nil }

func (s *fakeSource) ticket(now time.Time, old *ticket) (*ticket, error) {
	if old != nil && now.Before(old.due()) {
		return old, nil
	}
	s.requested.Add(1)
	if s.fails.Load() {
		return nil, errNoAnswer
	}
	now = now.Add(-s.late)
	return &ticket{auth: now, end: now.Add(time.Hour), renewTill: now.Add(24 * time.Hour)}, nil
}

// refresh refreshes the tickets like a caller of client.
func refresh(t *tickets) (*ticket, error) {
	t.busy <- struct{}{}
	defer func() { <-t.busy }()
	err := t.refresh()
	return t.current, err
}

// TestIdleRenewal checks that tickets are replaced before their end even if no caller
// asks for one, until close.
func TestIdleRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		tickets := newTickets(source)
		if _, err := refresh(tickets); err != nil {
			t.Fatal(err)
		}
		const hours = 20
		time.Sleep(hours*time.Hour - time.Second)
		if current, err := refresh(tickets); err != nil || current.expired(time.Now()) {
			t.Errorf("a ticket until %v, %v", current.end, err)
		}
		if want := int32(hours * 60 / 48); source.requested.Load() != want {
			t.Errorf("%d requests for tickets, want %d", source.requested.Load(), want)
		}
		tickets.close()
		before := source.requested.Load()
		time.Sleep(hours * time.Hour)
		synctest.Wait()
		if source.requested.Load() != before {
			t.Error("a request for a ticket after close")
		}
	})
}

// TestSourceThatFails retries a failed source, with pauses, while the ticket is valid.
// After its end, callers get the error at once.
func TestSourceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		tickets := newTickets(source)
		defer tickets.close()
		if _, err := refresh(tickets); err != nil {
			t.Fatal(err)
		}
		source.fails.Store(true)
		for range 59 * 60 {
			time.Sleep(time.Second)
			if _, err := refresh(tickets); err != nil {
				t.Fatal(err)
			}
		}
		if n := source.requested.Load(); n < 15 || n > 40 {
			t.Errorf("%d requests in the last 11 minutes of a ticket", n)
		}
		time.Sleep(time.Minute)
		before := source.requested.Load()
		if _, err := refresh(tickets); !errors.Is(err, errNoAnswer) || source.requested.Load() != before+1 {
			t.Errorf("after the end: %v, and %d requests", err, source.requested.Load()-before)
		}
	})
}

// TestCloseDuringExchange checks that close does not wait for an exchange, and that no
// other one follows.
func TestCloseDuringExchange(t *testing.T) {
	tickets := newTickets(&fakeSource{})
	tickets.clock.after = func(time.Duration, func()) (stop func() bool) {
		t.Error("another exchange is scheduled")
		return func() bool { return true }
	}
	tickets.busy <- struct{}{}
	tickets.close()
	if err := tickets.refresh(); err != nil {
		t.Error(err)
	}
}

// TestCloseDuringExchangeWithAnotherDue closes when the timer of the next exchange has
// already fired.
func TestCloseDuringExchangeWithAnotherDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		tickets := newTickets(source)
		if _, err := refresh(tickets); err != nil {
			t.Fatal(err)
		}
		tickets.busy <- struct{}{}
		time.Sleep(time.Hour)
		tickets.close()
		<-tickets.busy
		synctest.Wait()
		if n := source.requested.Load(); n != 1 {
			t.Errorf("%d requests for tickets, want 1", n)
		}
	})
}

func TestSourceOfExpiredTickets(t *testing.T) {
	tickets := newTickets(&fakeSource{late: 2 * time.Hour})
	defer tickets.close()
	_, err := refresh(tickets)
	wantRefusal(t, err, "expired")
}
