package store_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestSum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, size := range []int{0, 1, 1 << 20, 3<<20 + 5} {
		data := bytes.Repeat([]byte("rowtocol!"), size/9+1)[:size]
		testenv.Must(t, os.WriteFile(path, data, 0o666))
		n, crc, err := store.Sum(t.Context(), store.Local(), path, -1)
		if want := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)); err != nil || n != int64(size) || crc != want {
			t.Errorf("%d bytes with CRC-32C %08x, %v; want %d with %08x", n, crc, err, size, want)
		}
	}
}

func TestSumFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, _, err := store.Sum(t.Context(), store.Local(), path, -1); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	testenv.Must(t, os.WriteFile(path, make([]byte, 3<<20), 0o666))
	failing := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 2, Err: syscall.EIO})
	if _, _, err := store.Sum(t.Context(), failing, path, -1); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failing disk: %v", err)
	}
	broken := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 1, Err: syscall.EIO})
	if n, _, err := store.Sum(t.Context(), broken, path, 5); err != nil || n != 3<<20 {
		t.Errorf("a file of another length: %d bytes, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceling := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if c.Op == storetest.Open {
			cancel()
			c.Ctx = context.Background()
		}
		return c.Do()
	})
	if _, _, err := store.Sum(ctx, canceling, path, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	truncating := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		err := c.Do()
		if c.Op == storetest.Open {
			err = errors.Join(err, os.Truncate(path, 10))
		}
		return err
	})
	if n, _, err := store.Sum(t.Context(), truncating, path, -1); err != nil || n != 10 {
		t.Errorf("a file that became shorter: %d bytes, %v", n, err)
	}
}

func TestJoinSums(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	data := make([]byte, 70_000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	for _, at := range []int{0, 1, 7, 8, 255, 4096, 65_537, len(data)} {
		first, second := crc32.Checksum(data[:at], table), crc32.Checksum(data[at:], table)
		if got, want := store.JoinSums(first, second, int64(len(data)-at)), crc32.Checksum(data, table); got != want {
			t.Errorf("cut at %d: %08x, want %08x", at, got, want)
		}
	}
}
