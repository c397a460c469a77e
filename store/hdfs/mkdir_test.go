package hdfs

import (
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

func TestMkdir(t *testing.T) {
	const made, none = `{"result":true}`, `{}`
	for name, tt := range map[string]struct {
		status, answer string
		asked          int // for the directory
		is             error
	}{
		"made":               {none, made, 1, nil},
		"another's":          {aDir, made, 0, store.ErrExist},
		"a file's name":      {aFile(5), made, 0, store.ErrExist},
		"a file is faster":   {none, "org.apache.hadoop.fs.FileAlreadyExistsException: Path is not a directory: /d/e", 1, store.ErrExist},
		"no parent":          {none, "java.io.FileNotFoundException: Parent directory doesn't exist: /d", 1, store.ErrNoParent},
		"below a file":       {none, "org.apache.hadoop.fs.ParentNotDirectoryException: /d (is not a directory)", 1, store.ErrNotRegular},
		"refused":            {none, `{"result":false}`, 1, store.ErrUnavailable},
		"the answer is lost": {none, "hang up", 1, store.ErrUnavailable},
		"busy":               {none, "org.apache.hadoop.ipc.RetriableException: not yet", 1, store.ErrUnavailable},
		"no look":            {"java.io.IOException: odd", made, 0, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, answers{"getFileInfo": {tt.status}, "mkdirs": {tt.answer}})
			s.addresses = append(s.addresses, s.addresses[0]) // which must not be asked again
			if err := s.Mkdir(t.Context(), "/d/e"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			asked := n.requests("mkdirs")
			if len(asked) != tt.asked || tt.asked > 0 && asked[0].field("createParent").Bool() {
				t.Errorf("asked for by %v", asked)
			}
		})
	}
}
