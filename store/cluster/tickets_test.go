package cluster

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
)

var errAway = errors.New("away")

// fakeSource gives tickets that live for an hour.
type fakeSource struct {
	asked atomic.Int32 // for a new ticket
	fails atomic.Bool
	late  time.Duration // that its tickets come too late
}

func (s *fakeSource) realms() (*realms, error) { return &realms{config: config.New()}, nil }

func (s *fakeSource) ticket(now time.Time, old *ticket) (*ticket, error) {
	if old != nil && now.Before(old.due()) {
		return old, nil
	}
	s.asked.Add(1)
	if s.fails.Load() {
		return nil, errAway
	}
	now = now.Add(-s.late)
	return &ticket{auth: now, end: now.Add(time.Hour), renewTill: now.Add(24 * time.Hour)}, nil
}

// refresh is what a caller of client makes of the tickets.
func refresh(t *tickets) (*ticket, error) {
	t.busy <- struct{}{}
	defer func() { <-t.busy }()
	err := t.refresh()
	return t.current, err
}

// TestTicketsThatNobodyAsksFor are replaced all the same, before their end, as
// long as they are wanted.
func TestTicketsThatNobodyAsksFor(t *testing.T) {
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
		if want := int32(hours * 60 / 48); source.asked.Load() != want {
			t.Errorf("%d tickets were asked for, want %d", source.asked.Load(), want)
		}
		tickets.close()
		before := source.asked.Load()
		time.Sleep(hours * time.Hour)
		synctest.Wait()
		if source.asked.Load() != before {
			t.Error("a ticket was asked for after close")
		}
	})
}

// TestSourceThatFails is asked again, with pauses, while the ticket is valid;
// after its end whoever wants a ticket is told at once.
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
		if n := source.asked.Load(); n < 15 || n > 40 {
			t.Errorf("in the last 11 minutes of a ticket %d others were asked for", n)
		}
		time.Sleep(time.Minute)
		before := source.asked.Load()
		if _, err := refresh(tickets); !errors.Is(err, errAway) || source.asked.Load() != before+1 {
			t.Errorf("after the end: %v, and %d tickets were asked for", err, source.asked.Load()-before)
		}
	})
}

// TestCloseDuringExchange waits for nobody, and the exchange that ends later is
// the last.
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

// TestCloseDuringExchangeWithAnotherDue has no time left to stop the other.
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
		if n := source.asked.Load(); n != 1 {
			t.Errorf("%d tickets were asked for", n)
		}
	})
}

func TestSourceOfExpiredTickets(t *testing.T) {
	tickets := newTickets(&fakeSource{late: 2 * time.Hour})
	defer tickets.close()
	_, err := refresh(tickets)
	isRefused(t, err, "expired")
}
