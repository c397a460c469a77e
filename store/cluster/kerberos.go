package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/store"
)

// Kerberos returns a new Kerberos client with a valid ticket-granting ticket. One goroutine at a
// time may use the client as long as the ticket is valid. The client needs no release. Get a new
// client for each session: the ticket is replaced before it expires, from the keytab, by renewal,
// or from a ticket cache that has changed. The error is fs.ErrPermission if credentials are
// missing, refused or expired, and store.ErrUnavailable if no distribution center answers.
func (l *Login) Kerberos(ctx context.Context) (*client.Client, error) {
	if l.tickets == nil {
		return nil, errors.New("Kerberos: the login is a simple one")
	}
	return l.tickets.client(ctx)
}

// Close ends the renewal of tickets. The login is not used afterwards.
func (l *Login) Close() {
	if l.tickets != nil {
		l.tickets.close()
	}
}

// ticket is a ticket-granting ticket, which proves the user's identity to a distribution center.
type ticket struct {
	name                        types.PrincipalName
	realm                       string
	raw                         []byte
	key                         types.EncryptionKey
	auth, start, end, renewTill time.Time
}

// begin returns the time from which the ticket is valid.
func (t *ticket) begin() time.Time {
	if t.start.After(t.auth) {
		return t.start
	}
	return t.auth
}

func (t *ticket) String() string { return t.name.PrincipalNameString() + "@" + t.realm }

// due returns the time to replace the ticket: after 80 % of its life, as in Hadoop.
func (t *ticket) due() time.Time { return t.end.Add(-t.end.Sub(t.begin()) / 5) }

func (t *ticket) expired(now time.Time) bool { return t == nil || !now.Before(t.end) }

func (t *ticket) renewable() bool { return t.renewTill.After(t.end) }

// client returns a client of the library with the ticket. It is a client of a ticket cache, because
// other clients run goroutines that log in forever and fail silently. The client is not told that
// the ticket is renewable, nor when it was issued. Otherwise it would renew the ticket near its end,
// or always if the ticket was issued long ago, and stop working if a renewal fails.
func (t *ticket) client(r *realms) (*client.Client, error) {
	credential := &credentials.Credential{
		Key: t.key, AuthTime: t.begin(), StartTime: t.begin(), EndTime: t.end, Ticket: t.raw,
	}
	credential.Client.Realm, credential.Client.PrincipalName = t.realm, t.name
	credential.Server.Realm, credential.Server.PrincipalName = t.realm, ticketService(t.realm)
	cache := &credentials.CCache{Version: 4, Credentials: []*credentials.Credential{credential}}
	cache.DefaultPrincipal.Realm, cache.DefaultPrincipal.PrincipalName = t.realm, t.name
	c, err := client.NewFromCCache(cache, r.library())
	if err != nil {
		return nil, credentialsErrorf("Kerberos ticket of %s: %v", t, err)
	}
	return c, nil
}

// renewed returns the ticket with a new end.
func (t *ticket) renewed(r *realms) (*ticket, error) {
	c, err := t.client(r)
	if err != nil {
		return nil, err
	}
	var tgt messages.Ticket
	if err := tgt.Unmarshal(t.raw); err != nil {
		return nil, credentialsErrorf("Kerberos ticket of %s: %v", t, err)
	}
	_, rep, err := c.TGSREQGenerateAndExchange(ticketService(t.realm), t.realm, tgt, t.key, true)
	if err != nil {
		return nil, exchangeError(r, t.String(), t.realm, err)
	}
	return newTicket(t.name, t.realm, rep.Ticket, rep.DecryptedEncPart)
}

// newTicket returns a ticket from a distribution center's answer.
func newTicket(name types.PrincipalName, realm string, tgt messages.Ticket, part messages.EncKDCRepPart) (*ticket, error) {
	raw, err := tgt.Marshal()
	if err != nil {
		return nil, fmt.Errorf("Kerberos ticket of %s@%s: %w", name.PrincipalNameString(), realm, err)
	}
	return &ticket{
		name: name, realm: realm, raw: raw, key: part.Key,
		auth: part.AuthTime, start: part.StartTime, end: part.EndTime, renewTill: part.RenewTill,
	}, nil
}

// ticketService returns the name of the service that grants the tickets of a realm.
func ticketService(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// credentialsError is an error that only the user can fix.
type credentialsError struct{ text string }

func credentialsErrorf(format string, args ...any) error {
	return &credentialsError{printable(fmt.Sprintf(format, args...))}
}

func (e *credentialsError) Error() string { return e.text }

func (e *credentialsError) Is(target error) bool { return target == fs.ErrPermission }

// kdcAnswer matches the library's text of a distribution center's answer, with the
// requested service.
var kdcAnswer = lazyregexp.New(`(?:requesting for (\S+): )?KRB Error: (\((\d+)\).*)`)

// ServiceTicket gets a ticket for a service, which the client keeps. The library's exchange obeys no
// context. When ctx ends, ServiceTicket does not wait for the exchange, which ends by itself, and
// the client must not be used again. The error comes from the library: see KDCError.
func ServiceTicket(ctx context.Context, c *client.Client, service string) (messages.Ticket, types.EncryptionKey, error) {
	type result struct {
		ticket messages.Ticket
		key    types.EncryptionKey
		err    error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.ticket, r.key, r.err = c.GetServiceTicket(service)
		done <- r
	}()
	select {
	case r := <-done:
		return r.ticket, r.key, r.err
	case <-ctx.Done():
		return messages.Ticket{}, types.EncryptionKey{}, ctx.Err()
	}
}

// KDCError returns, in one line, the distribution center's answer in an error of the Kerberos
// library, even if only the text of the error is left. The result is store.ErrUnavailable if a retry
// with a new client may help, else fs.ErrPermission. It is nil if the error has no answer.
func KDCError(err error) error { return kdcError("us", err) }

func kdcError(principal string, err error) error {
	m := kdcAnswer.FindStringSubmatch(err.Error())
	if m == nil {
		return nil
	}
	what := principal
	if m[1] != "" {
		what = "a ticket for " + m[1]
	}
	switch m[3] {
	case "29", "32", "60": // service unavailable, expired meanwhile, generic
		return fmt.Errorf("Kerberos, for %s: %s: %w", printable(what), printable(m[2]), store.ErrUnavailable)
	case "37":
		return credentialsErrorf("Kerberos refuses %s: the clocks differ too much: %s", what, m[2])
	}
	return credentialsErrorf("Kerberos refuses %s: %s", what, m[2])
}

// exchangeError returns the library's error of an exchange with a distribution center in one line.
// It is store.ErrUnavailable if a retry may help, else fs.ErrPermission.
func exchangeError(r *realms, principal, realm string, err error) error {
	if answer := kdcError(principal, err); answer != nil {
		return answer
	}
	text := err.Error()
	var library krberror.Krberror
	switch known := errors.As(err, &library); {
	case known && library.RootCause == krberror.DecryptingError:
		return credentialsErrorf("the keytab's key of %s is not, or no longer, the one that Kerberos knows", principal)
	case !known || library.RootCause != krberror.NetworkingError:
		return credentialsErrorf("Kerberos, for %s: %s", principal, text)
	}
	count, _, _ := r.library().GetKDCs(realm, true)
	if count == 0 && (!r.config.LibDefaults.DNSLookupKDC || strings.Contains(text, "no such host")) {
		return credentialsErrorf("Kerberos, for %s: neither krb5.conf nor the DNS names a distribution center of realm %s",
			principal, realm)
	}
	return fmt.Errorf("Kerberos: no distribution center of %s answers: %w: %s", realm, store.ErrUnavailable, printable(text))
}
