package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// extension ends the names of the files that the textfile collector reads.
const extension = ".prom"

// CheckName returns an error if the textfile collector would not read a file with this name. The
// name of a directory is correct: see FileFor.
func CheckName(name string) error {
	//guard: rejects a file without the extension of metrics
	if !isDirectory(name) && !strings.HasSuffix(name, extension) {
		return fmt.Errorf("%s does not end in %s, and node-exporter would not read it", name, extension)
	}
	return nil
}

// isDirectory reports whether a name is that of a directory, which may be missing if the name
// ends with a slash.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return strings.HasSuffix(name, "/") || err == nil && info.IsDir()
}

// FileFor returns the file for the metrics of a job. If name is a directory, the file is in
// it, and named after the job.
func FileFor(name, job string) string {
	if !isDirectory(name) {
		return name
	}
	return filepath.Join(name, "rowtocol-"+fileSafe(job)+extension)
}

// Apart returns another name of a file of metrics, which ends with a suffix before the extension.
// The name of a directory stays.
func Apart(name, suffix string) string {
	if base, ok := strings.CutSuffix(name, extension); ok && !isDirectory(name) {
		return base + suffix + extension
	}
	return name
}

// maxReadable bounds the readable part of the name of a file, in bytes.
const maxReadable = 100

// fileSafe returns a name for files. Names that differ stay different: if the result is not
// the name itself, it ends with a checksum of the name.
func fileSafe(name string) string {
	safe := strings.Trim(strings.Map(plain, name), "-")
	//guard: keeps names that have the same plain characters apart
	if safe == name && len(name) <= maxReadable {
		return name
	}
	return fmt.Sprintf("%s-%08x", safe[max(0, len(safe)-maxReadable):], crc32.ChecksumIEEE([]byte(name)))
}

// plain returns a character that needs no quotes in a shell: r, or a hyphen instead.
func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
		return r
	}
	return '-'
}

// maxFile bounds the size of a file of metrics that is read, in bytes.
const maxFile = 1 << 20

// WriteFile writes the metrics of a run to FileFor, atomically and readable by all users. It
// follows links. If the run did not succeed, WriteFile keeps the time of the job's last success
// that is in the file, or writes 0. If the file holds anything but metrics of the job, WriteFile
// replaces it as well and returns an error that says so. If name is a directory, WriteFile writes
// nothing for a job without a name: no later run would replace that file.
func WriteFile(name string, r *report.Run) error {
	if err := CheckName(name); err != nil {
		return err
	}
	job := jobName(r)
	//guard: leaves no file of a failure that no success replaces
	if job == "" && isDirectory(name) {
		return nil
	}
	name, err := resolveLink(FileFor(name, job))
	if err != nil {
		return err
	}
	before, lost := readLastSuccess(name, job)
	//guard: rejects a device
	if errors.Is(lost, errNotRegular) {
		return lost
	}
	//guard: rejects a link to a file of another kind
	if err := CheckName(name); err != nil {
		return err
	}
	if r.Succeeded() {
		before.at = unix(r.Ended)
	}
	of := labels(cmp.Or(job, before.job))
	all := append(families(r, of), family(lastSuccess, lastSuccessHelp, before.at, of))
	return errors.Join(lost, replace(name, all))
}

// replace writes metrics to a file, which gets its name when it is complete.
func replace(name string, all []*dto.MetricFamily) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // the file no longer has this name if all went well
	err = cmp.Or(write(f, all), f.Chmod(0o644))
	if err := cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// resolveLink returns the name of the file to which a name leads through links.
func resolveLink(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, nil
	}
	// Writing to the link would replace it, and readers of its target would get no update.
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", fmt.Errorf("the link leads nowhere: %w", err)
	}
	return target, nil
}

// success is the time of a job's last success, 0 if there was none.
type success struct {
	job string
	at  float64
}

var errNotRegular = errors.New("not a regular file")

// readLastSuccess returns the last success of a job that is in a file. A run that failed before
// it knew its job has no name, and gets that of the file. The error says why the file cannot be
// used.
func readLastSuccess(name, job string) (none success, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	families, err := parse(name)
	if err != nil {
		return none, fmt.Errorf("%s did not hold metrics of rowtocol, and is replaced: %w", filepath.Base(name), err)
	}
	s, ok := successIn(families[lastSuccess])
	//guard: rejects a time that rowtocol did not write
	if !ok {
		return none, fmt.Errorf("%s lacked a success time that rowtocol wrote, and is replaced", filepath.Base(name))
	}
	//guard: reports that another job's metrics are lost
	if job != "" && s.job != "" && s.job != job {
		return none, fmt.Errorf("%s held the metrics of the job %q, which those of %q replace: each job needs a file of its own", filepath.Base(name), s.job, job)
	}
	return s, nil
}

// successIn returns the success of the only job in a family.
func successIn(f *dto.MetricFamily) (s success, ok bool) {
	if len(f.GetMetric()) != 1 || f.GetType() != dto.MetricType_GAUGE {
		return s, false
	}
	m := f.GetMetric()[0]
	s.at = m.GetGauge().GetValue()
	if len(m.GetLabel()) != 1 || m.GetLabel()[0].GetName() != jobLabel || !(s.at >= 0) || math.IsInf(s.at, 0) {
		return s, false
	}
	s.job = m.GetLabel()[0].GetValue()
	return s, true
}

// parse parses a file of metrics. If rowtocol did not write the file, parse returns an error.
func parse(name string) (map[string]*dto.MetricFamily, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	size, text := int64(0), io.LimitReader(f, maxFile)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	//guard: bounds the size of a file that is read
	if size > maxFile {
		return nil, fmt.Errorf("it has %d bytes", size)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	//guard: reports that another program's file is replaced
	if families[runInfo] == nil {
		return nil, errors.New("it has no " + runInfo)
	}
	return families, nil
}
