package webhdfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

const denied = "AccessControlException: Permission denied: user=alice"

// TestMkdir makes /a/b/c. Its requests are, in this order, for the status of /a/b,
// /a/b/c and /a, and then as the case may be.
func TestMkdir(t *testing.T) {
	inGroup := func(group, more string) string { return statusOf("DIRECTORY", 0, `,"group":"`+group+`"`+more) }
	acl := func(entries string) string { return `{"AclStatus":{"entries":[` + entries + `]}}` }
	const boolean = `{"boolean":true}`
	for name, tt := range map[string]struct {
		statuses []string
		answers  answers
		beside   bool // the directory is made beside its parent
		direct   bool // it is made in its place
		removed  bool // what was made beside the parent
		is       error
	}{
		"beside":             {statuses: []string{aDir, notFound, aDir}, beside: true},
		"another's":          {statuses: []string{aDir, aDir}, is: store.ErrExist},
		"a file's name":      {statuses: []string{aDir, aFile}, is: store.ErrExist},
		"no parent":          {statuses: []string{notFound}, is: store.ErrNoParent},
		"below a file":       {statuses: []string{aFile}, is: store.ErrNotRegular},
		"another group":      {statuses: []string{inGroup("b", ""), notFound, inGroup("a", "")}, direct: true},
		"above is hidden":    {statuses: []string{aDir, notFound, denied}, direct: true},
		"no status of above": {statuses: []string{aDir, notFound, "hang up"}, is: store.ErrUnavailable},
		"another list": {statuses: []string{inGroup("a", `,"aclBit":true`), notFound, inGroup("a", "")},
			answers: answers{"GETACLSTATUS": {acl(`"user:bob:rwx","default:user:bob:rwx"`), acl("")}}, direct: true},
		"another list above": {statuses: []string{inGroup("a", ""), notFound, inGroup("a", `,"aclBit":true`)},
			answers: answers{"GETACLSTATUS": {acl(""), acl(`"default:user:bob:rwx"`)}}, direct: true},
		"lists that are alike": {statuses: []string{inGroup("a", `,"aclBit":true`), notFound, inGroup("a", `,"aclBit":true`)},
			answers: answers{"GETACLSTATUS": {acl(`"default:a","user:bob:rwx","default:b"`), acl(`"default:b","default:a"`)}}, beside: true},
		"may not write above": {statuses: []string{aDir, notFound, aDir},
			answers: answers{"MKDIRS": {denied, boolean}}, beside: true, direct: true, removed: true},
		"an encryption zone begins": {statuses: []string{aDir, notFound, aDir},
			answers: answers{"RENAME": {"IOException: /a/.c can't be moved into an encryption zone."}}, beside: true, direct: true, removed: true},
		"moved away": {statuses: []string{aDir, notFound, aDir},
			answers: answers{"RENAME": {"FileNotFoundException: rename destination parent /a/b/c not found."}},
			beside:  true, removed: true, is: store.ErrNoParent},
		"moved away with all above": {statuses: []string{aDir, notFound, aDir, notFound},
			answers: answers{"RENAME": {notFound}}, beside: true, removed: true, is: store.ErrNoParent},
		"swept": {statuses: []string{aDir, notFound, aDir},
			answers: answers{"RENAME": {notFound}}, beside: true, removed: true, is: store.ErrUnavailable},
		"another is faster": {statuses: []string{aDir, notFound, aDir},
			answers: answers{"RENAME": {"FileAlreadyExistsException: rename destination /a/b/c already exists"}},
			beside:  true, removed: true, is: store.ErrExist},
		"lost answer":           {statuses: []string{aDir, notFound, aDir}, answers: answers{"MKDIRS": {"hang up"}}, beside: true, removed: true, is: store.ErrUnavailable},
		"lost answer to rename": {statuses: []string{aDir, notFound, aDir}, answers: answers{"RENAME": {"hang up"}}, beside: true, removed: true, is: store.ErrUnavailable},
		"made nothing":          {statuses: []string{aDir, notFound, aDir}, answers: answers{"MKDIRS": {`{"boolean":false}`}}, beside: true, removed: true, is: store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			a := answers{"MKDIRS": {boolean}, "RENAME": {""}, "DELETE": {boolean}}
			for op, texts := range tt.answers {
				a[op] = texts
			}
			n, s := newNameNode(t, a.with("GETFILESTATUS", tt.statuses...), nil)
			s.addresses = append(s.addresses, s.addresses[0]) // which must not be asked again
			s.renames.Store(renamesExact)
			if err := s.Mkdir(t.Context(), "/a/b/c"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			var beside, direct int
			for _, p := range n.paths("MKDIRS") {
				switch dir, base := path.Split(p); {
				case p == "/a/b/c":
					direct++
				case dir == "/a/" && store.IsTemp(base):
					beside++
				default:
					t.Errorf("made %s", p)
				}
			}
			if (beside == 1) != tt.beside || (direct == 1) != tt.direct || beside+direct > 2 {
				t.Errorf("made by %v", n.paths("MKDIRS"))
			}
			if removed := n.paths("DELETE"); (len(removed) == 1) != tt.removed || tt.removed && removed[0] != n.paths("MKDIRS")[0] {
				t.Errorf("removed %v", removed)
			}
		})
	}
}

// TestMkdirInRoot has no directory above, nor needs one: the root is never made.
func TestMkdirInRoot(t *testing.T) {
	n, s := newNameNode(t, answers{"GETFILESTATUS": {aDir, notFound}, "MKDIRS": {`{"boolean":true}`}, "RENAME": {""}}, nil)
	s.renames.Store(renamesExact)
	testenv.Must(t, s.Mkdir(t.Context(), "/a"))
	if made := n.paths("MKDIRS"); len(made) != 1 || !strings.HasPrefix(made[0], "/.a.") || n.requests("RENAME")[0].Get("destination") != "/a" {
		t.Errorf("made %v, renamed by %v", made, n.requests("RENAME"))
	}
}

// TestMkdirPermission is that of who may write neither here nor there.
func TestMkdirPermission(t *testing.T) {
	_, s := newNameNode(t, answers{"GETFILESTATUS": {aDir, notFound, aDir}, "MKDIRS": {denied}, "DELETE": {denied}}, nil)
	if err := s.Mkdir(t.Context(), "/a/b/c"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "alice") {
		t.Error(err)
	}
}
