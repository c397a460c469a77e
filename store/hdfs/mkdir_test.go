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
		requested      int // directories
		is             error
	}{
		"made":               {none, made, 1, nil},
		"exists":             {dirInfo, made, 0, store.ErrExist},
		"a file's name":      {fileInfo(5), made, 0, store.ErrExist},
		"a new file":         {none, "org.apache.hadoop.fs.FileAlreadyExistsException: Path is not a directory: /d/e", 1, store.ErrExist},
		"no parent":          {none, "java.io.FileNotFoundException: Parent directory doesn't exist: /d", 1, store.ErrNoParent},
		"below a file":       {none, "org.apache.hadoop.fs.ParentNotDirectoryException: /d (is not a directory)", 1, store.ErrNotRegular},
		"refused":            {none, `{"result":false}`, 1, store.ErrUnavailable},
		"the answer is lost": {none, "hang up", 1, store.ErrUnavailable},
		"busy":               {none, "org.apache.hadoop.ipc.RetriableException: not yet", 1, store.ErrUnavailable},
		"unknown status":     {"java.io.IOException: odd", made, 0, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, answers{"getFileInfo": {tt.status}, "mkdirs": {tt.answer}})
			s.addresses = append(s.addresses, s.addresses[0]) // must get no second request
			if err := s.Mkdir(t.Context(), "/d/e"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			requested := n.requests("mkdirs")
			if len(requested) != tt.requested || tt.requested > 0 && requested[0].field("createParent").Bool() {
				t.Errorf("the requests are %v", requested)
			}
		})
	}
}
