package publish_test

import (
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/publish/publishtest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

func memory(t *testing.T) (store.Store, string) {
	c := memstore.New().Client()
	testenv.Must(t, c.Mkdir(t.Context(), "/parent"))
	return c, "/parent/dest"
}

func TestThree(t *testing.T) {
	publishtest.Random(t, memory, soak.Rounds(100, 30000))
}

func TestReaders(t *testing.T) { publishtest.Readers(t, memory) }

// TestOnDisk runs few schedules, because they test the runs and not the store.
func TestOnDisk(t *testing.T) {
	disk := func(t *testing.T) (store.Store, string) { return store.Local(), filepath.Join(t.TempDir(), "dest") }
	publishtest.Random(t, disk, soak.Rounds(5, 300))
}
