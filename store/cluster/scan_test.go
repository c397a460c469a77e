package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestReadFileOfAnySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	testenv.Must(t, os.WriteFile(path, nil, 0o600))
	for size, sound := range map[int64]bool{0: true, maxFile: true, maxFile + 1: false, 1 << 40: false} {
		testenv.Must(t, os.Truncate(path, size))
		if data, err := readFile(path); (err == nil) != sound || sound && int64(len(data)) != size {
			t.Errorf("of %d bytes: read %d, %v", size, len(data), err)
		}
	}
}

func TestLoadKeytab(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": "", "no keys": "\x05\x02", "deleted keys": "\x05\x02\xff\xff\xff\xfc\x00\x00\x00\x00", "no keytab": "\x05\x04",
		"a damaged key": "\x05\x02\x00\x00\x00\x08\x00\x02\x7f\xff\x00\x00\x00\x00",
	} {
		path := filepath.Join(t.TempDir(), "keytab")
		testenv.Must(t, os.WriteFile(path, []byte(data), 0o600))
		if _, err := loadKeytab(newSecretFiles(LoginOptions{}), path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
