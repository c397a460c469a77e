package hadoop

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/job/task"
)

// States of an application: one that runs, and those of one that has ended.
const (
	stateRunning = "RUNNING"
	succeeded    = "SUCCEEDED"
	failed       = "FAILED"
	killed       = "KILLED"
)

const (
	lastLines   = 20 // lines of a command's output that are kept for errors
	maxReason   = 20 // lines of the reason why a job failed
	maxShown    = 2 << 10
	maxCounters = 1000
)

var (
	applicationLine = lazyregexp.New(`Submitted application (application_\d+_\d+)`)
	urlLine         = lazyregexp.New(`The url to track the job: (\S+)`)
	// The client prints one of these after it has made the job's directory and before it submits the job.
	preparedLine  = lazyregexp.New(`(?:Disabling Erasure Coding for path: \S*/|Submitting tokens for job: )(job_\d+_\d+)$`)
	jobLine       = lazyregexp.New(`Running job: (job_\d+_\d+)`)
	percentLine   = lazyregexp.New(` map (\d+)% reduce \d+%$`)
	doneLine      = lazyregexp.New(`Job job_\d+_\d+ completed successfully$`)
	stateLine     = lazyregexp.New(`Job job_\d+_\d+ failed with state ([A-Z]+) due to: (.*)$`)
	countersLine  = lazyregexp.New(`Counters: \d+$`)
	counterGroup  = lazyregexp.New(`^\t([^\t].*?) *$`)
	counterValue  = lazyregexp.New(`^\t\t(.+)=(-?\d+)$`)
	exceptionLine = lazyregexp.New(`(?:^|\s)((?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error)(?:\([^)]*\))?: .*)$`)
	retryLine     = lazyregexp.New(`Retrying connect to server: \S*[^.\s]|Retrying connect to server|Retrying after sleeping`)
	unreachable   = lazyregexp.New(`ConnectException|NoRouteToHostException|ConnectTimeoutException|SocketTimeoutException|UnknownHostException`)
	idPattern     = lazyregexp.New(`^(?:application|job)(_\d{1,20}_\d{1,10})$`)
)

// tail is the end of a command's output, and the first exception in it.
type tail struct {
	lines     []string
	exception string
}

func (t *tail) addLine(text string) {
	if len(t.lines) == lastLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, text)
	if t.exception == "" && strings.Contains(text, ": ") { // the pattern is slow on long lines
		if m := exceptionLine.FindStringSubmatch(text); m != nil {
			t.exception = m[1]
		}
	}
}

// reason returns the probable reason why the command failed.
func (t *tail) reason() string {
	if t.exception != "" {
		return printable(t.exception)
	}
	for _, line := range slices.Backward(t.lines) {
		if strings.TrimSpace(line) != "" {
			return printable(strings.TrimSpace(line))
		}
	}
	return "it printed nothing"
}

// printable returns another program's text in a form that fits in a message.
func printable(text string) string {
	//guard: bounds the length of a message
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return plainText(text)
}

// output parses the output of Hadoop's client while it runs a job.
type output struct {
	tail
	app task.RemoteJob
	// running is whether the job is submitted, so that the client only waits for its end.
	running bool
	mapping bool // tasks run
	percent int
	why     []string // reason why the job failed, by line

	inReason   bool   // the next lines belong to why
	inCounters bool   // the next lines are counters
	group      string // group of the next counters
	counters   int
}

// addLine parses a line.
func (o *output) addLine(text string) {
	o.tail.addLine(text)
	switch {
	case o.inReason && text != "" && !countersLine.MatchString(text):
		if len(o.why) < maxReason {
			o.why = append(o.why, text)
		}
		return
	case o.inCounters && o.addCounter(text):
		return
	}
	o.inReason, o.inCounters = false, false
	if m := preparedLine.FindStringSubmatch(text); m != nil {
		o.app.Job = m[1]
	} else if m := applicationLine.FindStringSubmatch(text); m != nil {
		o.app.ID = m[1]
	} else if m := urlLine.FindStringSubmatch(text); m != nil {
		o.app.URL = m[1]
	} else if m := jobLine.FindStringSubmatch(text); m != nil {
		o.app.Job, o.running = m[1], true
		o.app.ID = applicationID(m[1])
	} else if m := percentLine.FindStringSubmatch(text); m != nil {
		o.mapping = true
		o.percent, _ = strconv.Atoi(m[1]) // the maximum if the number is too large
	} else if doneLine.MatchString(text) {
		o.app.State = succeeded
	} else if m := stateLine.FindStringSubmatch(text); m != nil {
		o.app.State, o.why, o.inReason = m[1], []string{m[2]}, true
	} else if countersLine.MatchString(text) {
		o.inCounters, o.app.Counters = true, make(map[string]map[string]int64)
	}
}

// addCounter parses a line of counters, and reports whether it is one.
func (o *output) addCounter(text string) bool {
	if m := counterValue.FindStringSubmatch(text); m != nil {
		//guard: bounds the output that is kept
		if o.counters >= maxCounters {
			return true
		}
		value, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return true // too large for a counter of rowtocol
		}
		o.counters++
		if o.app.Counters[o.group] == nil {
			o.app.Counters[o.group] = make(map[string]int64)
		}
		o.app.Counters[o.group][m[1]] = value
		return true
	}
	if m := counterGroup.FindStringSubmatch(text); m != nil {
		o.group = m[1]
		return true
	}
	return false
}

// applicationID returns the ID of an application. id is the ID of the application or of its job.
// The result is empty for other IDs.
func applicationID(id string) string {
	if m := idPattern.FindStringSubmatch(id); m != nil {
		return "application" + m[1]
	}
	return ""
}

// jobID returns the ID of an application's job.
func jobID(application string) string {
	return "job" + strings.TrimPrefix(application, "application")
}

// report is a report of `yarn application` about an application.
type report struct {
	id, name, state, url string
	percent              int
	final                string   // final state
	why                  []string // reason of the final state, by line
}

// ended reports whether the application has ended.
func (r *report) ended() bool {
	return r.state == "FINISHED" || r.state == failed || r.state == killed
}

// parseReport parses the output of `yarn application -status`. It returns nil if the output is
// not a report.
func parseReport(lines []string) *report {
	r := &report{}
	inReason := false
	for _, line := range lines {
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "\t"), " : ")
		if !ok {
			key, ok = strings.CutSuffix(strings.TrimPrefix(line, "\t"), " :")
		}
		if inReason && !(ok && key == "Unmanaged Application") {
			if line != "" && len(r.why) < maxReason {
				r.why = append(r.why, line)
			}
			continue
		}
		inReason = false
		if !ok || !strings.HasPrefix(line, "\t") {
			continue
		}
		switch value = strings.TrimSpace(value); key {
		case "Application-Id":
			r.id = value
		case "Application-Name":
			r.name = value
		case "State":
			r.state = value
		case "Final-State":
			r.final = value
		case "Tracking-URL":
			r.url = parseURL(value)
		case "Progress":
			r.percent = parsePercent(value)
		case "Diagnostics":
			inReason = true
			if value != "" {
				r.why = []string{value}
			}
		}
	}
	if applicationID(r.id) == "" || r.state == "" {
		return nil
	}
	return r
}

// parseList parses the output of `yarn application -list`.
func parseList(lines []string) (reports []*report) {
	for _, line := range lines {
		cells := strings.Split(line, "\t")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		// A name may contain tabs, so the cells after it are counted from the end.
		n := len(cells)
		if n < 9 || applicationID(cells[0]) != cells[0] {
			continue
		}
		reports = append(reports, &report{
			id: cells[0], name: cells[1], state: cells[n-4], final: cells[n-3], percent: parsePercent(cells[n-2]), url: parseURL(cells[n-1]),
		})
	}
	return reports
}

// parseURL returns the URL of an application. It is empty if there is none yet.
func parseURL(text string) string {
	if text == "N/A" {
		return ""
	}
	return text
}

func parsePercent(text string) int {
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		return 0
	}
	return int(min(max(f, 0), 100))
}
