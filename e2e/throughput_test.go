package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// copySize is the length of the files that are copied, in bytes.
const copySize = 256 << 20

// copier copies between memory and HDFS by the client library alone, which is
// the ceiling, or by the store over it.
type copier struct {
	read  func(path string) error
	write func(path string, data []byte) error
}

// BenchmarkHDFS prints how fast files go to and from HDFS by the store, in MB/s
// and as a share of what the client library does alone; the two take turns. One
// replica, so that the client and not the pipeline is measured.
//
//	go test -run '^$' -bench HDFS -benchtime 5x ./e2e
func BenchmarkHDFS(b *testing.B) {
	c := hadooptest.Shared(b)
	resolver := location.New(location.Options{Patience: store.Patience{Limit: time.Minute}, Replication: 1})
	b.Cleanup(func() { _ = resolver.Close() })
	at, err := resolver.Resolve(c.URI() + "/throughput")
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	if err := storetest.MkdirAll(ctx, at.Store, at.Path); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = at.Store.RemoveAll(context.Background(), at.Path) })
	data := make([]byte, copySize)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	copiers := map[string]copier{"client": clientCopier(b, c.URI()), "store": storeCopier(ctx, at.Store)}
	times := map[string][]time.Duration{}
	for i := range b.N {
		for name, copier := range copiers {
			file := fmt.Sprintf("%s/%s-%d", at.Path, name, i)
			for _, step := range []struct {
				name string
				do   func() error
			}{
				{"write", func() error { return copier.write(file, data) }},
				{"read", func() error { return copier.read(file) }},
			} {
				began := time.Now()
				if err := step.do(); err != nil {
					b.Fatalf("%s %s: %v", name, step.name, err)
				}
				times[name+" "+step.name] = append(times[name+" "+step.name], time.Since(began))
			}
			if err := at.Store.Remove(ctx, file); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, step := range []string{"read", "write"} {
		ours, ceiling := median(times["store "+step]), median(times["client "+step])
		b.ReportMetric(copySize/1e6/ours.Seconds(), step+"-MB/s")
		b.ReportMetric(ceiling.Seconds()/ours.Seconds(), step+"-share")
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func clientCopier(b *testing.B, uri string) copier {
	u, err := url.Parse(uri)
	if err != nil {
		b.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		b.Fatal(err)
	}
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{u.Host}, User: me.Username})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	buf := make([]byte, 1<<20)
	return copier{
		read: func(path string) error {
			f, err := client.Open(path)
			if err != nil {
				return err
			}
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, f, buf); err != nil {
				return err
			}
			return f.Close()
		},
		write: func(path string, data []byte) error {
			f, err := client.CreateFile(path, 1, copySize, 0o644)
			if err != nil {
				return err
			}
			for chunk := range slices.Chunk(data, 1<<20) {
				if _, err := f.Write(chunk); err != nil {
					return err
				}
			}
			err = f.Close()
			for hdfs.IsErrReplicating(err) {
				time.Sleep(10 * time.Millisecond)
				err = f.Close()
			}
			return err
		},
	}
}

func storeCopier(ctx context.Context, st store.Store) copier {
	buf := make([]byte, 1<<20)
	return copier{
		read: func(path string) error {
			f, err := st.Open(ctx, path)
			if err != nil {
				return err
			}
			for off := int64(0); off < f.Size(); off += int64(len(buf)) {
				if _, err := f.ReadAt(buf, off); err != nil && err != io.EOF {
					return err
				}
			}
			return f.Close()
		},
		write: func(path string, data []byte) error {
			w, err := st.Create(ctx, path, store.CreateOptions{Size: copySize})
			if err != nil {
				return err
			}
			for chunk := range slices.Chunk(data, 1<<20) {
				if _, err := w.Write(chunk); err != nil {
					return err
				}
			}
			return w.Commit(ctx)
		},
	}
}

// BenchmarkHDFSConvert converts the same mail set on local disk and on HDFS,
// and prints what the way over HDFS adds, beside the time that copying the same
// bytes in and out by the client alone takes.
//
//	go test -run '^$' -bench HDFSConvert -benchtime 3x ./e2e
func BenchmarkHDFSConvert(b *testing.B) {
	c := hadooptest.Shared(b)
	dir := b.TempDir()
	input := filepath.Join(dir, "mail.avro")
	writeMail(b, input, 300_000)
	data, err := os.ReadFile(input)
	if err != nil {
		b.Fatal(err)
	}
	client := clientCopier(b, c.URI())
	at := fmt.Sprint("/convert-", scratches.Add(1)) // a name for each call of this function
	must(b, client.write(at+".avro", data))
	var local, remote, in, out []time.Duration
	measure := func(times *[]time.Duration, do func()) {
		began := time.Now()
		do()
		*times = append(*times, time.Since(began))
	}
	convert := func(from, to string) {
		run(b, "convert", "--row-group-size=16MiB", "--replication=1", "--temp-dir", dir, from, to).want(b, 0)
	}
	for i := range b.N {
		measure(&local, func() { convert(input, filepath.Join(dir, fmt.Sprint("out", i))) })
		measure(&remote, func() { convert(c.URI()+at+".avro", fmt.Sprint(c.URI(), at, "-out", i)) })
		measure(&in, func() { must(b, client.read(at+".avro")) })
		measure(&out, func() { must(b, client.write(fmt.Sprint(at, "-copy", i), data)) })
	}
	b.ReportMetric(median(local).Seconds(), "local-s")
	b.ReportMetric(median(remote).Seconds(), "hdfs-s")
	b.ReportMetric(median(in).Seconds()+median(out).Seconds(), "copies-s")
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
