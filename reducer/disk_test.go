package reducer

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// mount makes a small file system in memory, or skips the test if that is not
// allowed.
func mount(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=2m"); err != nil {
		testenv.Skip(t, "mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestDisks(t *testing.T) {
	tests := []struct {
		name  string
		flags uintptr
		want  store.Class
	}{
		{"full", 0, store.Retryable},
		{"read-only", syscall.MS_RDONLY, store.Final},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, sp, _ := sample(t)
			dir := mount(t, tt.flags)
			_, err := Write(t.Context(), store.Local(), named(filepath.Join(dir, "f")), out, sp)
			if store.Classify(err) != tt.want {
				t.Errorf("class %v of %v, want %v", store.Classify(err), err, tt.want)
			}
			if strings.Count(err.Error(), dir) != 1 {
				t.Errorf("%v names the file more or less than once", err)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}
