package metrics

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// extension ends the names of the files that the textfile collector reads.
const extension = ".prom"

// CheckName refuses the name of a file that the textfile collector would not read.
func CheckName(name string) error {
	//guard: refuses a file that is not named as one of metrics
	if !strings.HasSuffix(name, extension) {
		return fmt.Errorf("%s does not end in %s, and node-exporter would not read it", name, extension)
	}
	return nil
}

// maxFile bounds what is read of the metrics of the run before, in bytes.
const maxFile = 1 << 20

// WriteFile writes the metrics of a run to a file that appears whole, and for all to
// read. A link stays one. Of the metrics that were there it keeps the time of the last success, with its
// labels, if this run is none. A file of anything else is replaced, which the error
// says although the metrics are written then.
func WriteFile(name string, r *report.Run) error {
	if err := CheckName(name); err != nil {
		return err
	}
	name, err := followed(name)
	if err != nil {
		return err
	}
	before, lost := readLastSuccess(name)
	//guard: refuses a device
	if errors.Is(lost, errNoFile) {
		return lost
	}
	//guard: refuses a link to a file of another kind
	if err := CheckName(name); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	register(prometheus.WrapRegistererWith(labels(r), registry), r)
	if r.Succeeded() {
		set(registry, lastSuccess, lastSuccessHelp, labels(r), unix(r.Ended))
	} else if before != nil {
		set(registry, lastSuccess, lastSuccessHelp, before.labels, before.value)
	}
	return errors.Join(lost, prometheus.WriteToTextfile(name, registry))
}

// followed is the file that a name leads to through links: it is that one which is read.
func followed(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return name, nil
	}
	// Else the link would be replaced, and who reads what it leads to would learn nothing more.
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", fmt.Errorf("the link leads nowhere: %w", err)
	}
	return real, nil
}

// success is when a run succeeded, and which.
type success struct {
	labels prometheus.Labels
	value  float64
}

var errNoFile = errors.New("it is no file")

// readLastSuccess returns the time of the last success that a file tells; nil if there is
// none. The error says why a file is not understood.
func readLastSuccess(name string) (*success, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, errNoFile)
	}
	families, err := parse(name)
	if err != nil {
		return nil, fmt.Errorf("%s held something else than metrics of rowtocol, and is replaced: %w", filepath.Base(name), err)
	}
	family := families[lastSuccess]
	if family == nil {
		return nil, nil
	}
	s := &success{labels: prometheus.Labels{}}
	for _, m := range family.GetMetric() {
		if value := m.GetGauge().GetValue(); value > s.value && !math.IsInf(value, 0) {
			s.value = value
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
		}
	}
	//guard: refuses labels of another job
	if len(s.labels) != 2 || s.labels["command"] == "" {
		return nil, fmt.Errorf("%s held no time of a success that rowtocol wrote, and is replaced", filepath.Base(name))
	}
	return s, nil
}

// parse reads a file of metrics, all of which must be of rowtocol.
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
	//guard: refuses to replace another program's file in silence
	if families["rowtocol_build_info"] == nil {
		return nil, errors.New("rowtocol_build_info is not in it")
	}
	return families, nil
}
