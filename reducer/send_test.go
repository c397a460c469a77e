package reducer

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestSend(t *testing.T) {
	out, sp, want := sample(t)
	var got bytes.Buffer
	testenv.Must(t, Send(t.Context(), &got, out, sp))
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("sent %d other bytes than the %d wanted", got.Len(), len(want))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Send(ended, &got, out, sp); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
	full := errors.New("disk full")
	if err := Send(t.Context(), failing{full}, out, sp); !errors.Is(err, full) {
		t.Error(err)
	}
	got.Reset()
	out.Size++
	if err := Send(t.Context(), &got, out, sp); err == nil || got.Len() > 0 {
		t.Errorf("pieces of another size: %v, %d bytes sent", err, got.Len())
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
