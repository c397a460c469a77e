package cluster

import (
	"context"
	"errors"

	"github.com/jcmturner/gokrb5/v8/client"
)

type tickets struct{}

func kerberosLogin(LoginOptions) (*Login, error) {
	return &Login{user: osUser(), tickets: &tickets{}}, nil
}

// Kerberos returns a new Kerberos client with a valid ticket-granting ticket.
// The client is the caller's: one goroutine may use it at a time, for as long
// as the ticket is valid; it holds nothing to release. Ask again for each
// session, since the ticket is replaced before it expires: from the keytab, by
// renewal, or from a ticket cache that was refreshed meanwhile. Missing, refused
// and expired credentials are fs.ErrPermission; a distribution center that does
// not answer is store.ErrUnavailable.
func (l *Login) Kerberos(ctx context.Context) (*client.Client, error) {
	return nil, errors.ErrUnsupported
}

// Close ends the renewal of tickets.
func (l *Login) Close() {}
