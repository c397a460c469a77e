package e2e

import (
	"debug/elf"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestStaticProgram checks that the program needs no library and no loader of the machine.
func TestStaticProgram(t *testing.T) {
	f, err := elf.Open(program)
	must(t, err)
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v", p.Type)
		}
	}
}

// TestStaticInEmptyRoot runs the program in an empty root directory, as in a container from
// scratch: without libraries, user names, certificates and /proc.
func TestStaticInEmptyRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Skip(t, "only root can change the root directory")
	}
	const unprivileged = 65532
	root := t.TempDir()
	copyFile(t, program, filepath.Join(root, "rowtocol"), 0o755)
	mail, err := filepath.Glob("../testdata/mail/*.avro")
	if err != nil || len(mail) == 0 {
		t.Fatal(mail, err)
	}
	for _, name := range mail {
		copyFile(t, name, filepath.Join(root, "mail", filepath.Base(name)), 0o644)
	}
	must(t, os.Mkdir(filepath.Join(root, "out"), 0o755))
	must(t, os.Chown(filepath.Join(root, "out"), unprivileged, unprivileged))
	inRoot := func(args ...string) result {
		cmd := exec.Command("/rowtocol", args...)
		cmd.Env, cmd.Dir = []string{"HOME=/"}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		return finish(t, cmd)
	}
	refused := func(code int, advice string, args ...string) {
		t.Helper()
		if r := inRoot(args...); r.code != code || !strings.Contains(r.stderr, advice) {
			t.Errorf("exit %d, want %d with the advice %q\n%s", r.code, code, advice, r.stderr)
		}
	}
	refused(1, "--temp-dir", "convert", "/mail", "/out/mail")
	refused(1, "HADOOP_USER_NAME", "inspect", "hdfs://localhost:1/mail")
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	cmd := exec.Command("/rowtocol", "inspect", "s"+strings.Replace(server.URL, "https", "webhdfs", 1)+"/mail")
	cmd.Env, cmd.Dir = []string{"HADOOP_USER_NAME=somebody"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if r := finish(t, cmd); r.code != 7 || !strings.Contains(r.stderr, "SSL_CERT_FILE") {
		t.Errorf("an unknown certificate: exit %d\n%s", r.code, r.stderr)
	}
	if r := inRoot("convert", "--temp-dir", "/out", "/mail", "/out/mail"); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	got, want := inRoot("cat", "/out/mail"), run(t, "cat", filepath.Join(root, "out/mail"))
	if got.code != 0 || got.stdout != want.stdout || len(got.stdout) < 1000 {
		t.Errorf("exit %d, %d bytes of rows; outside %d\n%s", got.code, len(got.stdout), len(want.stdout), got.stderr)
	}
	if r := inRoot("verify", "/out/mail", "--against", "/mail"); r.code != 0 {
		t.Errorf("verify: exit %d\n%s", r.code, r.stderr)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(t, os.WriteFile(to, data, mode))
}
