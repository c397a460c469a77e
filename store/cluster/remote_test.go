package cluster

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

func TestRemote(t *testing.T) {
	for _, test := range []struct {
		class, message string
		is             error
		kind           store.Class
		says           string
	}{
		{"java.io.FileNotFoundException", "File does not exist: /x\n\tat org.apache.hadoop...", store.ErrNotExist, store.NotFound, "File does not exist: /x"},
		{"java.io.FileNotFoundException", "Parent directory doesn't exist: /x", store.ErrNoParent, store.Final, "Parent directory doesn't exist: /x"},
		{"java.io.FileNotFoundException", "rename destination parent /y/z not found.", store.ErrNoParent, store.Final, "rename destination parent /y/z not found."},
		{"java.io.FileNotFoundException", "Path is not a file: /x", store.ErrNotRegular, store.Final, "Path is not a file: /x"},
		{"FileNotFoundException", "", store.ErrNotExist, store.NotFound, "FileNotFoundException"},
		{"org.apache.hadoop.fs.FileAlreadyExistsException", "/x for client 127.0.0.1 already exists", store.ErrExist, store.Exists, "/x for client 127.0.0.1 already exists"},
		{"org.apache.hadoop.fs.FileAlreadyExistsException", "Path is not a directory: /x", store.ErrExist, store.Exists, "Path is not a directory: /x"},
		{"org.apache.hadoop.fs.FileAlreadyExistsException", "Parent path is not a directory: /x y", store.ErrNotRegular, store.Final, "Parent path is not a directory: /x y"},
		{"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", "failed", store.ErrExist, store.Exists, "AlreadyBeingCreatedException: failed"},
		{"org.apache.hadoop.security.AccessControlException", "Permission denied: user=bob", fs.ErrPermission, store.Final, "Permission denied: user=bob"},
		{"org.apache.hadoop.security.AccessControlException", "/a/file (is not a directory)", store.ErrNotRegular, store.Final, "/a/file (is not a directory)"},
		{"java.lang.SecurityException", "Failed to obtain user group information: org.apache.hadoop.security.token.SecretManager$InvalidToken: token is expired", store.ErrUnavailable, store.Retryable, "SecurityException: Failed"},
		{"org.apache.hadoop.security.token.SecretManager$InvalidToken", "token is expired", store.ErrUnavailable, store.Retryable, "InvalidToken: token is expired"},
		{"org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", "The NameSpace quota is exceeded", store.ErrQuota, store.Final, "The NameSpace quota is exceeded"},
		{"org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota", store.ErrQuota, store.Final, "The DiskSpace quota"},
		{"org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException", "SSD", store.ErrQuota, store.Final, "SSD"},
		{"org.apache.hadoop.fs.ParentNotDirectoryException", "/a/file (is not a directory)", store.ErrNotRegular, store.Final, "/a/file (is not a directory)"},
		{"org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot create file/x. Name node is in safe mode.", store.ErrUnavailable, store.Retryable, "Name node is in safe mode"},
		{"org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby", store.ErrUnavailable, store.Retryable, "StandbyException: Operation"},
		{"org.apache.hadoop.ipc.RetriableException", "", store.ErrUnavailable, store.Retryable, "RetriableException"},
		{"java.io.IOException", "File /x could only be written to 0 of the 1 minReplication nodes.", store.ErrUnavailable, store.Retryable, "could only be written to 0"},
		{"java.io.IOException", "rename destination directory is not empty: /x", syscall.ENOTEMPTY, store.Exists, "not empty"},
		{"java.io.IOException", "/a can't be moved into an encryption zone.", syscall.EXDEV, store.Final, "encryption zone"},
		{"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException", "`/x is non empty': Directory is not empty", syscall.ENOTEMPTY, store.Exists, "/x is non empty"},
		{"org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException", "No lease on /x", store.ErrUnavailable, store.Retryable, "No lease on /x"},
		{"org.apache.hadoop.HadoopIllegalArgumentException", "bad", syscall.EINVAL, store.Final, "HadoopIllegalArgumentException: bad"},
		{"java.lang.IllegalArgumentException", "Invalid value", syscall.EINVAL, store.Final, "IllegalArgumentException: Invalid value"},
		{"org.apache.hadoop.fs.InvalidPathException", "Invalid path name", syscall.EINVAL, store.Final, "Invalid path name"},
		{"org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException", "limit is 255", syscall.ENAMETOOLONG, store.Final, "limit is 255"},
		{"org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException", "limit=1048576", syscall.EMLINK, store.Final, "limit=1048576"},
		{"java.lang.UnsupportedOperationException", "Symlinks not supported", syscall.ENOTSUP, store.Final, "Symlinks not supported"},
		{"com.example.NeverHeardOfIt", "odd", store.ErrUnavailable, store.Retryable, "NeverHeardOfIt: odd"},
		{"", "", store.ErrUnavailable, store.Retryable, "without name"},
	} {
		err := Remote(test.class, test.message)
		if !errors.Is(err, test.is) || store.Classify(err) != test.kind {
			t.Errorf("%s %q: is %v, %v; want %v, %v", test.class, test.message, errors.Unwrap(err), store.Classify(err), test.is, test.kind)
		}
		if text := err.Error(); !strings.Contains(text, test.says) || strings.Contains(text, "\n") {
			t.Errorf("%s: says %q, want %q", test.class, text, test.says)
		}
	}
}

func TestRemoteIsPrintable(t *testing.T) {
	for _, message := range []string{"\x1b[31mred\x00\xff", strings.Repeat("é", 1<<20), "\r\n\n", "a\u2028b"} {
		text := Remote("java.io.\x1bIOException", message).Error()
		if strings.ContainsAny(text, "\x1b\x00\n\r\u2028") || len(text) > 2*maxLine || text == "" {
			t.Errorf("%.40q... says %.80q", message, text)
		}
	}
}
