package cluster

import (
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/rowtocol/rowtocol/store"
)

// RemoteError is an exception in the answer of a daemon of the cluster. errors.Is matches it with
// the error of package store or of the system that it means. Unless it clearly means another
// error, that is store.ErrUnavailable.
type RemoteError struct {
	Class   string // the Java class, with or without its package
	Message string // unchanged; may have a stack trace after its first line
}

// Remote returns the error for an exception of a class with a message.
func Remote(class, message string) error { return &RemoteError{Class: class, Message: message} }

const maxLine = 1000 // most bytes of a daemon's message that a user sees

// Error returns the message in one line.
func (e *RemoteError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.Message), "\n")
	line = printable(line)
	name := printable(e.Name())
	switch {
	case line == "" && name == "":
		return "an exception without name and message"
	case line == "":
		return name
	case name == "" || redundantNames[name] || strings.Contains(line, name):
		return line
	}
	return name + ": " + line
}

// Name returns the class without package and outer class.
func (e *RemoteError) Name() string {
	return e.Class[strings.LastIndexAny(e.Class, ".$")+1:]
}

// Unwrap returns the error of package store or of the system that it means.
func (e *RemoteError) Unwrap() error {
	for _, m := range phrases {
		if strings.Contains(e.Message, m.part) && (m.class == "" || m.class == e.Name()) {
			return m.err
		}
	}
	if err, ok := meanings[e.Name()]; ok {
		return err
	}
	return store.ErrUnavailable
}

// printable shortens a daemon's text and removes control characters, because the text goes to
// terminals and logs.
func printable(s string) string {
	//guard: shortens a server's message
	if len(s) > maxLine {
		s = s[:maxLine] + "..."
	}
	s = strings.ToValidUTF8(s, "?")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
}

// redundantNames are exceptions whose name adds nothing to their message.
var redundantNames = map[string]bool{
	"IOException":                true,
	"RemoteException":            true,
	"AccessControlException":     true,
	"FileNotFoundException":      true,
	"FileAlreadyExistsException": true,
	"NSQuotaExceededException":   true,
	"DSQuotaExceededException":   true,
	"SafeModeException":          true,
}

// phrases are parts of messages that say more than the class does. They are tried first, in order.
// An empty class matches any class.
var phrases = []struct {
	class, part string
	err         error
}{
	{"", "SecretManager$InvalidToken", store.ErrUnavailable},
	{"FileNotFoundException", "Parent directory doesn't exist", store.ErrNoParent},
	{"FileNotFoundException", "rename destination parent", store.ErrNoParent},
	{"FileNotFoundException", "Path is not a file", store.ErrNotRegular},
	{"FileNotFoundException", "Path is not a directory", store.ErrNotRegular},
	{"FileAlreadyExistsException", "Parent path is not a directory", store.ErrNotRegular},
	{"IOException", "must both be directories", store.ErrExist}, // of a rename
	{"IOException", "directory is not empty", syscall.ENOTEMPTY},
	{"IOException", "can't be moved from", syscall.EXDEV},
	{"IOException", "can't be moved into", syscall.EXDEV},
	{"AccessControlException", "(is not a directory)", store.ErrNotRegular},
}

var meanings = map[string]error{
	"FileNotFoundException":        store.ErrNotExist,
	"PathNotFoundException":        store.ErrNotExist,
	"NoSuchFileException":          store.ErrNotExist,
	"FileAlreadyExistsException":   store.ErrExist,
	"PathExistsException":          store.ErrExist,
	"AlreadyBeingCreatedException": store.ErrExist,

	"AccessControlException":    fs.ErrPermission,
	"AuthorizationException":    fs.ErrPermission,
	"SecurityException":         fs.ErrPermission,
	"PathPermissionException":   fs.ErrPermission,
	"PathAccessDeniedException": fs.ErrPermission,

	"QuotaExceededException":                  store.ErrQuota,
	"NSQuotaExceededException":                store.ErrQuota,
	"DSQuotaExceededException":                store.ErrQuota,
	"QuotaByStorageTypeExceededException":     store.ErrQuota,
	"ClusterStorageCapacityExceededException": store.ErrQuota,

	"ParentNotDirectoryException":      store.ErrNotRegular,
	"PathIsNotDirectoryException":      store.ErrNotRegular,
	"PathIsDirectoryException":         store.ErrNotRegular,
	"PathIsNotEmptyDirectoryException": syscall.ENOTEMPTY,

	"UnknownCryptoProtocolVersionException": store.ErrEncrypted,

	"IllegalArgumentException":           syscall.EINVAL,
	"HadoopIllegalArgumentException":     syscall.EINVAL,
	"InvalidPathException":               syscall.EINVAL,
	"InvalidPathHandleException":         syscall.EINVAL,
	"IllegalNameException":               syscall.EINVAL,
	"PathComponentTooLongException":      syscall.ENAMETOOLONG,
	"MaxDirectoryItemsExceededException": syscall.EMLINK,
	"FSLimitException":                   syscall.EMLINK,
	"UnresolvedLinkException":            syscall.ELOOP,
	"UnresolvedPathException":            syscall.ELOOP,
	"UnsupportedOperationException":      syscall.ENOTSUP,
	"UnsupportedFileSystemException":     syscall.ENOTSUP,
	"RpcNoSuchMethodException":           syscall.ENOSYS,
	"RpcNoSuchProtocolException":         syscall.ENOSYS,
}
