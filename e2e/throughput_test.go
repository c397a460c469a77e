package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store/location"
)

// BenchmarkHDFSConvert converts the same mail set on local disk and on HDFS, and prints the
// additional time on HDFS, next to the time to copy the same bytes in and out. One
// replica limits the measurement to the client.
//
//	go test -run '^$' -bench HDFS -benchtime 3x ./e2e
func BenchmarkHDFSConvert(b *testing.B) {
	c := hadooptest.Shared(b)
	dir := b.TempDir()
	input := filepath.Join(dir, "mail.avro")
	writeMail(b, input, 300_000)
	data := readFile(b, input)
	resolver := location.New(location.Options{Hadoop: location.Hadoop{Replication: 1}})
	defer func() { _ = resolver.Close() }()
	at, err := resolver.Resolve(fmt.Sprint(c.URI(), "/convert-", scratches.Add(1))) // a name for each call of this function
	must(b, err)
	copyIn := func(name string) { must(b, at.Store.WriteFile(b.Context(), at.Path+name, data, false)) }
	copyIn(".avro")
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
		measure(&remote, func() { convert(c.URI()+at.Path+".avro", fmt.Sprint(c.URI(), at.Path, "-out", i)) })
		measure(&in, func() {
			_, err := at.Store.ReadFile(b.Context(), at.Path+".avro", int64(len(data)))
			must(b, err)
		})
		measure(&out, func() { copyIn(fmt.Sprint("-copy", i)) })
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return d[len(d)/2].Seconds()
	}
	b.ReportMetric(median(local), "local-s")
	b.ReportMetric(median(remote), "hdfs-s")
	b.ReportMetric(median(in)+median(out), "copies-s")
}
