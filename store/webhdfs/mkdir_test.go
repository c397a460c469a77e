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

// TestMkdir makes /a/b/c. The first requests are for the status of /a/b, /a/b/c and /a,
// in this order.
func TestMkdir(t *testing.T) {
	inGroup := func(group, more string) string { return statusJSON("DIRECTORY", 0, `,"group":"`+group+`"`+more) }
	acl := func(entries string) string { return `{"AclStatus":{"entries":[` + entries + `]}}` }
	const boolean = `{"boolean":true}`
	for name, tt := range map[string]struct {
		statuses []string
		answers  answers
		next     bool // the directory is made next to its parent
		direct   bool // it is made in its place
		removed  bool // the directory next to the parent
		is       error
	}{
		"next to the parent": {statuses: []string{dirStatus, notFound, dirStatus}, next: true},
		"exists":             {statuses: []string{dirStatus, dirStatus}, is: store.ErrExist},
		"a file's name":      {statuses: []string{dirStatus, smallFile}, is: store.ErrExist},
		"no parent":          {statuses: []string{notFound}, is: store.ErrNoParent},
		"below a file":       {statuses: []string{smallFile}, is: store.ErrNotRegular},
		"another group":      {statuses: []string{inGroup("b", ""), notFound, inGroup("a", "")}, direct: true},
		"above is hidden":    {statuses: []string{dirStatus, notFound, denied}, direct: true},
		"no status of above": {statuses: []string{dirStatus, notFound, "hang up"}, is: store.ErrUnavailable},
		"another list": {statuses: []string{inGroup("a", `,"aclBit":true`), notFound, inGroup("a", "")},
			answers: answers{"GETACLSTATUS": {acl(`"user:bob:rwx","default:user:bob:rwx"`), acl("")}}, direct: true},
		"another list above": {statuses: []string{inGroup("a", ""), notFound, inGroup("a", `,"aclBit":true`)},
			answers: answers{"GETACLSTATUS": {acl(""), acl(`"default:user:bob:rwx"`)}}, direct: true},
		"equal lists": {statuses: []string{inGroup("a", `,"aclBit":true`), notFound, inGroup("a", `,"aclBit":true`)},
			answers: answers{"GETACLSTATUS": {acl(`"default:a","user:bob:rwx","default:b"`), acl(`"default:b","default:a"`)}}, next: true},
		"may not write above": {statuses: []string{dirStatus, notFound, dirStatus},
			answers: answers{"MKDIRS": {denied, boolean}}, next: true, direct: true, removed: true},
		"an encryption zone begins": {statuses: []string{dirStatus, notFound, dirStatus},
			answers: answers{"RENAME": {"IOException: /a/.c can't be moved into an encryption zone."}}, next: true, direct: true, removed: true},
		"moved away": {statuses: []string{dirStatus, notFound, dirStatus},
			answers: answers{"RENAME": {"FileNotFoundException: rename destination parent /a/b/c not found."}},
			next:    true, removed: true, is: store.ErrNoParent},
		"moved away with all above": {statuses: []string{dirStatus, notFound, dirStatus, notFound},
			answers: answers{"RENAME": {notFound}}, next: true, removed: true, is: store.ErrNoParent},
		"temporary removed": {statuses: []string{dirStatus, notFound, dirStatus},
			answers: answers{"RENAME": {notFound}}, next: true, removed: true, is: store.ErrUnavailable},
		"a new directory": {statuses: []string{dirStatus, notFound, dirStatus},
			answers: answers{"RENAME": {"FileAlreadyExistsException: rename destination /a/b/c already exists"}},
			next:    true, removed: true, is: store.ErrExist},
		"lost answer":           {statuses: []string{dirStatus, notFound, dirStatus}, answers: answers{"MKDIRS": {"hang up"}}, next: true, removed: true, is: store.ErrUnavailable},
		"lost answer to rename": {statuses: []string{dirStatus, notFound, dirStatus}, answers: answers{"RENAME": {"hang up"}}, next: true, removed: true, is: store.ErrUnavailable},
		"made nothing":          {statuses: []string{dirStatus, notFound, dirStatus}, answers: answers{"MKDIRS": {`{"boolean":false}`}}, next: true, removed: true, is: store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			a := answers{"MKDIRS": {boolean}, "RENAME": {""}, "DELETE": {boolean}}
			for op, texts := range tt.answers {
				a[op] = texts
			}
			n, s := newNameNode(t, a.with("GETFILESTATUS", tt.statuses...), nil)
			s.addresses = append(s.addresses, s.addresses[0]) // must get no second request
			s.renames.Store(renamesExact)
			if err := s.Mkdir(t.Context(), "/a/b/c"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			var next, direct int
			for _, p := range n.paths("MKDIRS") {
				switch dir, base := path.Split(p); {
				case p == "/a/b/c":
					direct++
				case dir == "/a/" && store.IsTemp(base):
					next++
				default:
					t.Errorf("made %s", p)
				}
			}
			if (next == 1) != tt.next || (direct == 1) != tt.direct || next+direct > 2 {
				t.Errorf("made by %v", n.paths("MKDIRS"))
			}
			if removed := n.paths("DELETE"); (len(removed) == 1) != tt.removed || tt.removed && removed[0] != n.paths("MKDIRS")[0] {
				t.Errorf("removed %v", removed)
			}
		})
	}
}

// TestMkdirInRoot makes a directory in the root, which needs no status of a parent.
func TestMkdirInRoot(t *testing.T) {
	n, s := newNameNode(t, answers{"GETFILESTATUS": {dirStatus, notFound}, "MKDIRS": {`{"boolean":true}`}, "RENAME": {""}}, nil)
	s.renames.Store(renamesExact)
	testenv.Must(t, s.Mkdir(t.Context(), "/a"))
	if made := n.paths("MKDIRS"); len(made) != 1 || !strings.HasPrefix(made[0], "/.a.") || n.requests("RENAME")[0].Get("destination") != "/a" {
		t.Errorf("made %v, renamed by %v", made, n.requests("RENAME"))
	}
}

// TestMkdirPermission has a user who may write to neither directory.
func TestMkdirPermission(t *testing.T) {
	_, s := newNameNode(t, answers{"GETFILESTATUS": {dirStatus, notFound, dirStatus}, "MKDIRS": {denied}, "DELETE": {denied}}, nil)
	if err := s.Mkdir(t.Context(), "/a/b/c"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "alice") {
		t.Error(err)
	}
}
