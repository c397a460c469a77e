package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// checksumClients returns the clients that return checksums of a cluster's files.
func checksumClients(t *testing.T, c *hadooptest.Cluster) map[string]func(context.Context, string) (string, error) {
	t.Helper()
	all := map[string]func(context.Context, string) (string, error){}
	for protocol, st := range map[string]store.Store{
		"RPC": rpcStore(t, c, "", 0, nil), "WebHDFS": webStore(t, c.WebURI(), nil), "HttpFS": webStore(t, c.HTTPFS(), nil),
	} {
		if all[protocol] = store.CapabilitiesOf(st).Checksum; all[protocol] == nil {
			t.Fatalf("%s has no checksums", protocol)
		}
	}
	return all
}

// shown returns the checksums of files as "hdfs dfs -checksum" shows them.
func (f folder) shown(t *testing.T, files ...string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(f.java(t, "org.apache.hadoop.fs.FsShell", append([]string{"-checksum"}, files...)...)) {
		file, sum, _ := strings.Cut(strings.TrimSpace(line), "\t")
		sums[file] = strings.Replace(sum, "\t", ":", 1)
	}
	if len(sums) != len(files) {
		t.Fatalf("-checksum of %d files says %q", len(files), sums)
	}
	return sums
}

// checksums checks that each client returns the same checksum of an output with the
// current configuration. Over RPC there is none if data nodes encrypt.
func (r *realm) checksums(t *testing.T, dir string, encrypted bool) {
	t.Helper()
	resolver := location.New(location.Options{})
	defer func() { _ = resolver.Close() }()
	sum := func(uri string) (string, error) {
		at, err := resolver.Resolve(uri + dir)
		must(t, err)
		infos, err := at.Store.List(t.Context(), at.Path)
		must(t, err)
		i := slices.IndexFunc(infos, func(i store.Info) bool { return strings.HasPrefix(i.Name, "part-") })
		return store.CapabilitiesOf(at.Store).Checksum(t.Context(), infos[i].Path)
	}
	web, err := sum(r.WebURI())
	must(t, err)
	rpc, err := sum(r.URI())
	if encrypted && !errors.Is(err, errors.ErrUnsupported) || !encrypted && (err != nil || rpc != web) {
		t.Errorf("%s over RPC, %v; %s over HTTP", rpc, err, web)
	}
}

// TestHDFSChecksums compares each client's checksums with Hadoop's own, of files that
// Hadoop's client made with several settings. Some have none.
func TestHDFSChecksums(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	allProtocols := []string{"RPC", "WebHDFS", "HttpFS"}
	var files []string
	none := map[string][]string{} // clients without a checksum, by file
	for name, kind := range map[string]struct {
		flags []string
		sizes []int
		none  []string
	}{
		"usual":          {nil, []int{1, 512, 513, 1<<20 + 3}, nil},
		"CRC-32":         {[]string{"-Ddfs.checksum.type=CRC32", "-Ddfs.bytes-per-checksum=1024"}, []int{5000}, nil},
		"several-blocks": {[]string{"-Ddfs.blocksize=1048576"}, []int{3 << 20}, []string{"RPC"}},
		"without-CRCs":   {[]string{"-Ddfs.checksum.type=NULL"}, []int{0, 2000}, allProtocols},
	} {
		args, dir := append(kind.flags, "-put"), t.TempDir()
		for _, size := range kind.sizes {
			local := filepath.Join(dir, fmt.Sprintf("%s-%d", name, size))
			must(t, os.WriteFile(local, randomBytes(size), 0o666))
			args = append(args, local)
			file := path.Join(f.path, filepath.Base(local))
			files, none[file] = append(files, file), kind.none
		}
		f.java(t, "org.apache.hadoop.fs.FsShell", append(args, f.path)...)
	}
	shown := f.shown(t, files...)
	for protocol, checksum := range checksumClients(t, f.Cluster) {
		for _, file := range files {
			sum, err := checksum(t.Context(), file)
			if want := !slices.Contains(none[file], protocol); want && (sum != shown[file] || err != nil) || !want && (sum != "" || err == nil) {
				t.Errorf("%s by %s: %q, %v; shown is %s", file, protocol, sum, err, shown[file])
			}
		}
	}
}

// TestHDFSChecksumsOfSteps checks that results of tasks have checksums, which detect that
// a staged file was replaced.
func TestHDFSChecksumsOfSteps(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	input := filepath.Join(t.TempDir(), "mail.avro")
	writeMail(t, input, 10_000)
	var all []*steps
	var files []string
	recorded := map[string]string{}
	for protocol, uri := range map[string]string{"rpc": f.URI(), "web": f.WebURI()} {
		s := newSteps(t, input, uri+f.path+"/"+protocol, "--row-group-size=768KiB")
		all = append(all, s)
		s.runConcurrently(t, s.taskNumbers(), 1, false)
		staged := s.staged(t)
		for n := range s.tasks {
			res, err := manifest.DecodeTaskResult([]byte(staged[manifest.TaskName(n)]), s.id, n)
			must(t, err)
			for _, part := range res.Files() {
				file := path.Join(s.dir(), part.Name)
				files = append(files, file)
				recorded[file] = part.StoreChecksum
			}
		}
	}
	for file, sum := range f.shown(t, files...) {
		if recorded[file] != sum {
			t.Errorf("%s: recorded is %s, shown %s", file, recorded[file], sum)
		}
	}
	for protocol, checksum := range checksumClients(t, f.Cluster) {
		for _, file := range files {
			if sum, err := checksum(t.Context(), file); err != nil || sum != recorded[file] {
				t.Errorf("%s by %s: %s, %v; recorded is %s", file, protocol, sum, err, recorded[file])
			}
		}
	}
	for _, s := range all {
		staged := s.staged(t)
		part := listedFile(t, staged, 1)
		s.replace(t, part, string(randomBytes(len(staged[part]))))
		s.commit(t).want(t, 9).wantComplaint(t, "task 1", part, "CRC-32C")
		s.replace(t, part, staged[part])
		s.commit(t).want(t, 0)
	}
}
