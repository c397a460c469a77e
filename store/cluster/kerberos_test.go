package cluster

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// life is the life of tickets that expire in a test, and longLife that of their
// replacements.
const (
	life     = time.Hour
	longLife = 10 * time.Hour
)

var secure = NewConf(map[string]string{"hadoop.security.authentication": "kerberos"})

func newLogin(t *testing.T, o LoginOptions) *Login {
	t.Helper()
	l, err := NewLogin(secure, o)
	testenv.Must(t, err)
	t.Cleanup(l.Close)
	return l
}

// newMovableLogin returns a login whose clock only later moves. later also runs the timer
// that is then due. The distribution center's clock does not move.
func newMovableLogin(t *testing.T, o LoginOptions) (l *Login, later func(time.Duration)) {
	t.Helper()
	l = newLogin(t, o)
	var ahead time.Duration
	var due func()
	var at time.Time
	now := func() time.Time { return time.Now().Add(ahead) }
	l.tickets.clock = clock{now, func(d time.Duration, f func()) func() bool {
		due, at = f, now().Add(d)
		return func() bool { due = nil; return true }
	}}
	return l, func(d time.Duration) {
		ahead += d
		if f := due; f != nil && !at.After(now()) {
			due = nil
			f()
		}
	}
}

// wantRefusal checks that an error is final, denies permission, and contains a text.
func wantRefusal(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, fs.ErrPermission) || store.Classify(err) != store.Final || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v (%v), want a refusal that says %q", err, store.Classify(err), says)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}

func TestKeytab(t *testing.T) {
	k := startKDC(t)
	ctx := context.Background()
	keytab := k.principal("alice", time.Hour)
	service := k.principal("svc/host.example.com", time.Hour)

	for name, o := range map[string]LoginOptions{
		"alice": {Principal: "alice", Keytab: keytab},
		"only":  {Keytab: keytab},
		"realm": {Principal: "alice@EXAMPLE.COM", Keytab: keytab},
		"svc":   {Principal: "svc/host.example.com", Keytab: service},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogin(t, o)
			if want := map[bool]string{true: "svc", false: "alice"}[name == "svc"]; l.User() != want || !l.Secure() {
				t.Errorf("user %q, secure %v", l.User(), l.Secure())
			}
			if end := wantTicket(ctx, t, l); time.Until(end) < 50*time.Minute {
				t.Errorf("the ticket ends at %v", end)
			}
		})
	}
	t.Run("fewer keys than the realm", func(t *testing.T) {
		keys, err := loadKeytab(newSecretFiles(LoginOptions{}), keytab)
		testenv.Must(t, err)
		some := keys.Entries[:0]
		for _, e := range keys.Entries {
			if e.Key.KeyType == etypeID.AES128_CTS_HMAC_SHA256_128 {
				some = append(some, e)
			}
		}
		if len(some) == 0 || len(some) == len(keys.Entries) {
			t.Fatalf("%d keys of %d are of the other type", len(some), len(keys.Entries))
		}
		keys.Entries = some
		data, err := keys.Marshal()
		testenv.Must(t, err)
		k.write("some.keytab", string(data))
		wantTicket(ctx, t, newLogin(t, LoginOptions{Keytab: k.path("some.keytab")}))
	})
	t.Run("many at once", func(t *testing.T) {
		l := newLogin(t, LoginOptions{Keytab: keytab})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				c, err := l.Kerberos(ctx)
				if err == nil {
					_, _, err = c.GetServiceTicket("HTTP/localhost")
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
	t.Run("no key of the principal", func(t *testing.T) {
		_, err := NewLogin(secure, LoginOptions{Principal: "bob", Keytab: keytab})
		wantRefusal(t, err, "no key of bob@EXAMPLE.COM")
	})
	t.Run("no keytab", func(t *testing.T) {
		_, err := NewLogin(secure, LoginOptions{Keytab: keytab + "x"})
		wantRefusal(t, err, "alice.keytabx")
	})
	t.Run("old keys", func(t *testing.T) {
		l := newLogin(t, LoginOptions{Keytab: keytab})
		k.admin("change_password -randkey alice")
		_, err := l.Kerberos(ctx)
		wantRefusal(t, err, "alice@EXAMPLE.COM")
	})
	t.Run("unknown to the realm", func(t *testing.T) {
		l := newLogin(t, LoginOptions{Keytab: service})
		k.admin("delprinc -force svc/host.example.com")
		_, err := l.Kerberos(ctx)
		wantRefusal(t, err, "svc/host.example.com@EXAMPLE.COM")
	})
}

func TestKeytabOutlivesTicket(t *testing.T) {
	k := startKDC(t)
	ctx := context.Background()
	l, later := newMovableLogin(t, LoginOptions{Keytab: k.principal("alice", life)})
	end := wantTicket(ctx, t, l)
	ended := *l.tickets.current
	ended.end = time.Now().Add(-time.Second)
	c, err := ended.client(l.tickets.source.(*keytabSource).config)
	testenv.Must(t, err)
	if _, _, err := c.GetServiceTicket("HTTP/localhost"); err == nil {
		t.Error("the client works although its ticket expired")
	}
	k.setLife("alice", longLife)
	later(life / 2)
	if again := wantTicket(ctx, t, l); !again.Equal(end) {
		t.Errorf("a ticket that was good until %v was replaced by one until %v", end, again)
	}
	later(life)
	if again := wantTicket(ctx, t, l); !again.After(end.Add(life)) {
		t.Errorf("the ticket ends at %v, the first one ended at %v", again, end)
	}
}

func TestDistributionCenterAway(t *testing.T) {
	k := startKDC(t)
	ctx := context.Background()
	l, later := newMovableLogin(t, LoginOptions{Keytab: k.principal("alice", life)})
	first := wantTicket(ctx, t, l)

	k.signal(syscall.SIGSTOP)
	fresh := newLogin(t, LoginOptions{Keytab: k.path("alice.keytab")})
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	// Without a context, this call and Close would hang.
	if _, err := fresh.Kerberos(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hung distribution center: %v", err)
	}
	fresh.Close()
	k.signal(syscall.SIGCONT)
	fresh.tickets.busy <- struct{}{} // the abandoned exchange has ended

	k.stop()
	k.setLife("alice", longLife)
	later(life - time.Minute)
	if _, err := l.Kerberos(ctx); err != nil {
		t.Errorf("while the ticket is valid: %v", err)
	}
	later(2 * time.Minute)
	_, err := l.Kerberos(ctx)
	if store.Classify(err) != store.Retryable || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("expired: got %v (%v), want a retryable error", err, store.Classify(err))
	}
	k.start()
	if again := wantTicket(ctx, t, l); !again.After(first) {
		t.Errorf("the ticket ends at %v, the first one ended at %v", again, first)
	}
}

func TestTicketCache(t *testing.T) {
	k := startKDC(t)
	ctx := context.Background()
	keytab := k.principal("alice", longLife)
	l, later := newMovableLogin(t, LoginOptions{})
	_, err := l.Kerberos(ctx)
	wantRefusal(t, err, "kinit")

	k.kinit(keytab, "alice", "-l", "1h") // not renewable
	end := wantTicket(ctx, t, l)
	later(life + time.Second)
	_, err = l.Kerberos(ctx)
	wantRefusal(t, err, "expired")

	k.kinit(keytab, "alice", "-l", "2h") // not renewable
	if again := wantTicket(ctx, t, l); !again.After(end) {
		t.Errorf("the ticket ends at %v, the first one ended at %v", again, end)
	}
	if user := newLogin(t, LoginOptions{}).User(); user != "alice" {
		t.Errorf("user %q", user)
	}
	t.Run("another principal's", func(t *testing.T) {
		_, err := newLogin(t, LoginOptions{Principal: "bob"}).Kerberos(ctx)
		wantRefusal(t, err, "not of bob")
		wantTicket(ctx, t, newLogin(t, LoginOptions{Principal: "alice@EXAMPLE.COM"}))
	})
	t.Run("becomes another principal's", func(t *testing.T) {
		k.kinit(keytab, "alice", "-l", "1h") // not renewable
		l, later := newMovableLogin(t, LoginOptions{})
		wantTicket(ctx, t, l)
		k.kinit(k.principal("bob", longLife), "bob")
		later(life + time.Second)
		_, err := l.Kerberos(ctx)
		wantRefusal(t, err, "now of bob@EXAMPLE.COM")
	})
	t.Run("damaged", func(t *testing.T) {
		data, err := os.ReadFile(k.path("cache"))
		testenv.Must(t, err)
		k.write("cache", string(data[:len(data)/2]))
		_, err = newLogin(t, LoginOptions{}).Kerberos(ctx)
		wantRefusal(t, err, "kinit")
	})
}

func TestRenewal(t *testing.T) {
	k := startKDC(t)
	ctx := context.Background()
	k.kinit(k.principal("alice", life), "alice", "-r", "12h")
	before, err := os.ReadFile(k.path("cache"))
	testenv.Must(t, err)
	l, later := newMovableLogin(t, LoginOptions{})
	end := wantTicket(ctx, t, l)
	first := l.tickets.current.raw
	// No caller asks for a ticket. After its end, it could not be renewed.
	later(life - life/10)
	if bytes.Equal(l.tickets.current.raw, first) {
		t.Error("the ticket was not renewed")
	}
	if again := wantTicket(ctx, t, l); again.Before(end) {
		t.Errorf("the ticket ends at %v, the first one ended at %v", again, end)
	}
	if after, err := os.ReadFile(k.path("cache")); err != nil || string(after) != string(before) {
		t.Errorf("the user's cache was changed (%v)", err)
	}
}

// TestHungDistributionCenter checks that a call returns when its context ends.
func TestHungDistributionCenter(t *testing.T) {
	k := startKDC(t)
	l := newLogin(t, LoginOptions{Keytab: k.principal("alice", life)})
	ask := func(ctx context.Context) error {
		c, err := l.Kerberos(t.Context())
		if err == nil {
			_, _, err = ServiceTicket(ctx, c, "HTTP/localhost")
		}
		return err
	}
	testenv.Must(t, ask(t.Context()))
	k.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := ask(ctx)
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
		t.Errorf("%v after %v", err, took)
	}
	k.signal(syscall.SIGCONT)
	if err := ask(t.Context()); err != nil { // it is answered after the abandoned one
		t.Error(err)
	}
}
