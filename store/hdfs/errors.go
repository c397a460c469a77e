package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	client "github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

var (
	errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)
	// errNeedsKerberos means that the name node requires Kerberos, but the login is simple.
	errNeedsKerberos = fmt.Errorf("the name node accepts no simple authentication"+
		" (is hadoop.security.authentication=kerberos missing in the configuration?): %w", fs.ErrPermission)
	// errTicketRejected means that the name node rejects a ticket, which is for another
	// service, or the clocks differ.
	errTicketRejected = fmt.Errorf("the name node does not accept the Kerberos ticket"+
		" (is dfs.namenode.kerberos.principal its principal, and do the clocks agree?): %w", fs.ErrPermission)
)

func isUnavailable(err error) bool { return errors.Is(err, store.ErrUnavailable) }

func unavailable(err error) error {
	if isUnavailable(err) {
		return err
	}
	// The error is not wrapped, because a refused connection does not mean a refused operation.
	return fmt.Errorf("%w: %v", store.ErrUnavailable, err)
}

// translate converts an error of the library, or of a call, to an error that store.Classify
// knows. se may be nil.
func translate(ctx context.Context, se *session, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	var remote client.Error
	if errors.As(err, &remote) {
		return cluster.Remote(remote.Exception(), remote.Message())
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the caller adds the path
	}
	var network *net.OpError
	switch {
	case se != nil && errors.Is(se.cause(), syscall.ENOTSUP): // see negotiation
		return se.cause()
	case se != nil && errors.Is(err, net.ErrClosed) && se.cause() != nil:
		return unavailable(se.cause())
	case errors.As(err, &network):
		return unavailable(err)
	case errors.Is(err, os.ErrInvalid):
		return syscall.EINVAL
	case errors.Is(err, store.ErrMismatch), errors.Is(err, errClosed):
		return err
	}
	switch store.Classify(err) {
	case store.NotFound, store.Exists, store.Final:
		return err
	}
	return fromText(err)
}

// hiddenClass matches a Java exception in an error's text.
var hiddenClass = lazyregexp.New(`\(((?:[a-z]\w*\.)+[A-Z][\w$]*)\)`)

// fromText translates errors that the library reduced to text.
func fromText(err error) error {
	text := err.Error()
	if m := hiddenClass.FindStringSubmatch(text); m != nil {
		if m[1] == "javax.security.sasl.SaslException" && strings.Contains(text, "FATAL_UNAUTHORIZED") {
			return errTicketRejected
		}
		return cluster.Remote(m[1], text)
	}
	switch {
	case strings.Contains(text, "unexpected sequence number"):
		// The name node refuses a connection with an answer to no call.
		return errNeedsKerberos
	case strings.Contains(text, "kerberos authentication not supported"):
		return fmt.Errorf("%v: %w", err, fs.ErrPermission)
	}
	if answer := cluster.KDCError(err); answer != nil {
		return answer
	}
	return unavailable(err)
}
