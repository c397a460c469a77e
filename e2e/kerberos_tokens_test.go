package e2e

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// expiringTokens uses two stores for longer than the life of a token. One has a keytab, and
// fetches new tokens, even after one expired unused. The other has only Hadoop's file of a
// token: it fails once that has expired, until the file is replaced.
func (r *realm) expiringTokens(t *testing.T) {
	keyed, file := r.webStore(t, cluster.LoginOptions{Principal: "alice", Keytab: r.keytab}), filepath.Join(t.TempDir(), "tokens")
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", file)
	t.Setenv("KRB5CCNAME", "FILE:/nonexistent")
	r.fetchToken(t, file)
	given := r.webStore(t, cluster.LoginOptions{})
	// On a busy machine a round trip may take longer than the life of a token.
	withNewToken := func(name string) {
		err := roundTrip(t.Context(), given, name+"-0")
		for try := 1; err != nil && try < 5; try++ {
			r.fetchToken(t, file)
			err = roundTrip(t.Context(), given, fmt.Sprintf("%s-%d", name, try))
		}
		must(t, err)
	}
	withNewToken("/before")
	for end := time.Now().Add(2*life + time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		_, err := keyed.Stat(t.Context(), "/alice")
		must(t, err)
	}
	if _, err := given.Stat(t.Context(), "/"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("with an expired token: %v", err)
	}
	r.fetchToken(t, file) // like a scheduler
	withNewToken("/after")
	time.Sleep(life + time.Second)
	must(t, roundTrip(t.Context(), keyed, "/alice/late"))
}

// roundTrip writes a file and reads it back.
func roundTrip(ctx context.Context, st store.Store, path string) error {
	data := bytes.Repeat([]byte("secret "), 1<<20/7)
	if err := writeNewFile(ctx, st, path, data); err != nil {
		return err
	}
	got, err := st.ReadFile(ctx, path, 1<<20)
	if err == nil && !bytes.Equal(got, data) {
		err = store.ErrMismatch
	}
	return err
}
