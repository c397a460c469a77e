package cluster

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// tickets keeps a ticket-granting ticket valid.
type tickets struct {
	source source
	clock  clock
	busy   chan struct{} // a lock of the fields below
	// current is the ticket in use. It is nil before the first ticket.
	current   *ticket
	retry     time.Time   // earliest time to retry a failed replacement
	stopTimer func() bool // stops the timer that renews the ticket; may be nil
	closed    atomic.Bool
}

// clock is the time source of tickets. Tests have other clocks.
type clock struct {
	now func() time.Time
	// after runs f in its own goroutine after d, unless it is stopped first.
	after func(d time.Duration, f func()) (stop func() bool)
}

var systemClock = clock{
	now:   time.Now,
	after: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
}

// source provides tickets.
type source interface {
	// ticket returns the ticket to use now. It returns old, which may be nil, if old stays
	// valid for a while. Otherwise it returns a better ticket.
	ticket(now time.Time, old *ticket) (*ticket, error)
	// realms returns the configuration with which the tickets were made.
	realms() (*realms, error)
}

func newTickets(s source) *tickets {
	return &tickets{source: s, clock: systemClock, busy: make(chan struct{}, 1)}
}

// client returns a client with a valid ticket. The library's exchanges with a distribution center
// obey no context. When ctx ends, client does not wait for them, and they end by themselves.
func (t *tickets) client(ctx context.Context) (*client.Client, error) {
	select {
	case t.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type result struct {
		client *client.Client
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-t.busy }()
		var r result
		r.client, r.err = t.get()
		done <- r
	}()
	select {
	case r := <-done:
		return r.client, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *tickets) get() (*client.Client, error) {
	r, err := t.source.realms()
	if err != nil {
		return nil, err
	}
	if err := t.refresh(); err != nil {
		return nil, err
	}
	return t.current.client(r)
}

// refresh replaces the ticket if necessary. It returns an error only if the old ticket is no longer
// valid.
func (t *tickets) refresh() error {
	now := t.clock.now()
	if !t.current.expired(now) && now.Before(t.retry) {
		return nil
	}
	next, err := t.source.ticket(now, t.current)
	//guard: rejects a ticket that has expired
	if err == nil && next.expired(now) {
		err = credentialsErrorf("the Kerberos ticket of %s expired at %s: kinit, or use --keytab",
			next, next.end.Local().Format(time.RFC3339))
	}
	switch {
	case err == nil:
		t.current, t.retry = next, time.Time{}
	case t.current.expired(now):
		return err
	default:
		t.retry = now.Add(min(max(t.current.end.Sub(now)/10, time.Second), time.Minute))
	}
	t.schedule(now)
	return nil
}

// schedule sets a timer that renews a renewable ticket, even if no session begins for a long time.
// An expired ticket cannot be renewed.
func (t *tickets) schedule(now time.Time) {
	if t.stopTimer != nil {
		t.stopTimer()
	}
	//guard: frees the ticket of a login that is over
	if t.closed.Load() {
		return
	}
	if !t.current.renewable() {
		return
	}
	at := t.current.due()
	if at.Before(t.retry) {
		at = t.retry
	}
	t.stopTimer = t.clock.after(max(at.Sub(now), 100*time.Millisecond), func() {
		t.busy <- struct{}{}
		defer func() { <-t.busy }()
		//guard: does not renew a login that is over
		if t.closed.Load() {
			return
		}
		_ = t.refresh() // the next caller gets the error
	})
}

// close ends the renewal. It does not wait for an exchange with a distribution center that hangs.
// Such an exchange ends by itself, and schedules no other.
func (t *tickets) close() {
	t.closed.Store(true)
	select {
	case t.busy <- struct{}{}:
		if t.stopTimer != nil {
			t.stopTimer()
		}
		<-t.busy
	default:
	}
}

// keytabSource logs in with the keys of a principal.
type keytabSource struct {
	name   types.PrincipalName
	realm  string
	keys   *keytab.Keytab
	config *realms
}

func (s *keytabSource) realms() (*realms, error) { return s.config, nil }

func (s *keytabSource) ticket(now time.Time, old *ticket) (*ticket, error) {
	if old != nil && now.Before(old.due()) {
		return old, nil
	}
	config := s.config.library()
	// The distribution center chooses the encryption type, so ask only for types that
	// the keytab has.
	config.LibDefaults.DefaultTktEnctypeIDs = slices.DeleteFunc(slices.Clone(config.LibDefaults.DefaultTktEnctypeIDs),
		func(id int32) bool {
			_, _, err := s.keys.GetEncryptionKey(s.name, s.realm, 0, id)
			return err != nil
		})
	principal := s.name.PrincipalNameString() + "@" + s.realm
	if len(config.LibDefaults.DefaultTktEnctypeIDs) == 0 {
		return nil, credentialsErrorf("the keytab has no key of %s that krb5.conf permits", principal)
	}
	c := client.NewWithKeytab("", s.realm, s.keys, config)
	c.Credentials = credentials.NewFromPrincipalName(s.name, s.realm).WithKeytab(s.keys)
	request, err := messages.NewASReqForTGT(s.realm, config, s.name)
	if err != nil {
		return nil, exchangeError(s.config, principal, s.realm, err)
	}
	rep, err := c.ASExchange(s.realm, request, 0)
	if err != nil {
		return nil, exchangeError(s.config, principal, s.realm, err)
	}
	return newTicket(s.name, s.realm, rep.Ticket, rep.DecryptedEncPart)
}

// cacheSource takes tickets from the user's ticket cache, and renews them without
// changing the cache.
type cacheSource struct {
	want   string // principal that the user named, or empty
	files  *secretFiles
	config *realms
	path   string
	seen   os.FileInfo // describes the cache when it was read
}

func (s *cacheSource) realms() (*realms, error) {
	if s.config == nil {
		r, err := loadRealms()
		if err != nil {
			return nil, credentialsErrorf("%v", err)
		}
		s.config = r
	}
	return s.config, nil
}

func (s *cacheSource) ticket(now time.Time, old *ticket) (*ticket, error) {
	r, err := s.realms()
	if err != nil {
		return nil, err
	}
	best, err := s.read(r, old)
	if err != nil && old.expired(now) {
		return nil, err
	}
	if best == nil || best.expired(now) || !best.renewable() || now.Before(best.due()) {
		return best, err
	}
	return best.renewed(r)
}

// read returns the ticket of the cache if the cache has changed and its ticket is valid for longer.
// Otherwise it returns old. The error says why a changed cache was not used.
func (s *cacheSource) read(r *realms, old *ticket) (*ticket, error) {
	path, err := cacheFile(r.cacheName)
	if err != nil {
		return old, err
	}
	info, err := os.Stat(path)
	if err == nil && old != nil && path == s.path && unchanged(info, s.seen) {
		return old, nil
	}
	t, err := readCache(s.files, path)
	if err != nil {
		return old, err
	}
	//guard: rejects the ticket of another user
	if old != nil && (!t.name.Equal(old.name) || t.realm != old.realm) {
		return old, credentialsErrorf("the ticket cache %s had tickets of %s, and now of %s", path, old, t)
	}
	//guard: rejects a ticket that is not of the wanted principal
	if s.want != "" && !s.isWanted(r, t) {
		return old, credentialsErrorf("the ticket cache %s is of %s, not of %s: kinit %[3]s, or use --keytab", path, t, s.want)
	}
	s.path, s.seen = path, info
	if old != nil && !t.end.After(old.end) {
		return old, nil
	}
	return t, nil
}

func (s *cacheSource) isWanted(r *realms, t *ticket) bool {
	name, realm := types.ParseSPNString(s.want)
	if realm == "" {
		realm = r.config.LibDefaults.DefaultRealm
	}
	return t.name.Equal(name) && (t.realm == realm || realm == "")
}

func unchanged(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// kerberosLogin returns the login of a keytab or of the ticket cache.
func kerberosLogin(o LoginOptions) (*Login, error) {
	principal, err := expandHost(o.Principal)
	if err != nil {
		return nil, err
	}
	files := newSecretFiles(o)
	if o.Keytab != "" {
		s, err := newKeytabSource(files, principal, o.Keytab)
		if err != nil {
			return nil, err
		}
		principal = s.name.PrincipalNameString() + "@" + s.realm
		return &Login{user: s.name.NameString[0], tickets: newTickets(s), principal: principal, keytab: o.Keytab, files: files}, nil
	}
	s := &cacheSource{want: principal, files: files}
	user := osUser()
	if principal != "" {
		name, _ := types.ParseSPNString(principal)
		user = name.NameString[0]
	} else if r, err := s.realms(); err == nil {
		if t, err := s.read(r, nil); err == nil {
			user = t.name.NameString[0]
		}
	}
	return &Login{user: user, tickets: newTickets(s), principal: principal, files: files}, nil
}

// newKeytabSource reads a keytab and determines its principal.
func newKeytabSource(files *secretFiles, principal, path string) (*keytabSource, error) {
	keys, err := loadKeytab(files, path)
	if err != nil {
		return nil, credentialsErrorf("keytab %s: %v", path, err)
	}
	r, err := loadRealms()
	if err != nil {
		return nil, credentialsErrorf("%v", err)
	}
	if principal == "" {
		if principal, err = onlyPrincipal(keys); err != nil {
			return nil, credentialsErrorf("keytab %s: %v", path, err)
		}
	}
	name, realm := types.ParseSPNString(principal)
	if realm == "" {
		realm = r.config.LibDefaults.DefaultRealm
	}
	if realm == "" || slices.Contains(name.NameString, "") {
		return nil, credentialsErrorf("principal %q has no name or no realm, and krb5.conf no default_realm", principal)
	}
	if !hasKeys(keys, name, realm) {
		return nil, credentialsErrorf("keytab %s has no key of %s@%s", path, name.PrincipalNameString(), realm)
	}
	return &keytabSource{name: name, realm: realm, keys: keys, config: r}, nil
}

// expandHost replaces _HOST in a principal by this machine's name.
func expandHost(principal string) (string, error) {
	if !strings.Contains(principal, "/_HOST") {
		return principal, nil
	}
	host, err := os.Hostname()
	return strings.Replace(principal, "/_HOST", "/"+strings.ToLower(host), 1), err
}
