package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// extension ends the names of the files that the textfile collector reads.
const extension = ".prom"

// CheckName returns an error if the textfile collector would not read a file with this name.
func CheckName(name string) error {
	//guard: rejects a file without the extension of metrics
	if !strings.HasSuffix(name, extension) {
		return fmt.Errorf("%s does not end in %s, and node-exporter would not read it", name, extension)
	}
	return nil
}

// maxFile bounds the size of a file of metrics that is read, in bytes.
const maxFile = 1 << 20

// WriteFile writes the metrics of a run to a file, atomically and readable by all users.
// It follows links. If the run did not succeed, WriteFile keeps the time of the last success
// that is in the file, with its labels. If the file holds anything but metrics of rowtocol,
// WriteFile replaces it as well and returns an error that says so.
func WriteFile(name string, r *report.Run) error {
	if err := CheckName(name); err != nil {
		return err
	}
	name, err := resolveLink(name)
	if err != nil {
		return err
	}
	before, lost := readLastSuccess(name)
	//guard: rejects a device
	if errors.Is(lost, errNotRegular) {
		return lost
	}
	//guard: rejects a link to a file of another kind
	if err := CheckName(name); err != nil {
		return err
	}
	all := families(r, labels(r))
	if r.Succeeded() {
		all = append(all, family(lastSuccess, lastSuccessHelp, unix(r.Ended), labels(r)))
	} else if before != nil {
		all = append(all, family(lastSuccess, lastSuccessHelp, before.value, before.labels))
	}
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

// successTime is the time of the last success, with its labels.
type successTime struct {
	labels []*dto.LabelPair
	value  float64
}

var errNotRegular = errors.New("not a regular file")

// readLastSuccess returns the time of the last success that is in a file; nil if there is none.
// The error says why the file cannot be used.
func readLastSuccess(name string) (*successTime, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	families, err := parse(name)
	if err != nil {
		return nil, fmt.Errorf("%s did not hold metrics of rowtocol, and is replaced: %w", filepath.Base(name), err)
	}
	family := families[lastSuccess]
	if family == nil {
		return nil, nil
	}
	s := new(successTime)
	for _, m := range family.GetMetric() {
		if value := m.GetGauge().GetValue(); value > s.value && !math.IsInf(value, 0) {
			s.labels, s.value = m.GetLabel(), value
		}
	}
	//guard: rejects labels of another job
	if len(s.labels) != 2 || !slices.ContainsFunc(s.labels, isCommand) {
		return nil, fmt.Errorf("%s held a success time that rowtocol did not write, and is replaced", filepath.Base(name))
	}
	return s, nil
}

func isCommand(l *dto.LabelPair) bool { return l.GetName() == "command" && l.GetValue() != "" }

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
	if families["rowtocol_build_info"] == nil {
		return nil, errors.New("it has no rowtocol_build_info")
	}
	return families, nil
}
