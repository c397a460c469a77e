package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/rowtocol/rowtocol/store"
)

// StatusNothing is the JSON status of a run that had nothing to do.
const StatusNothing = "nothing"

// Ending is the final JSON object of --json. It is printed on standard output. If the command
// prints rows there, it is the last line of standard error.
type Ending struct {
	Run     string    `json:"run"` // ID of this run of the program
	Command string    `json:"command"`
	Exit    int       `json:"exit"`
	Status  string    `json:"status"`
	Error   *Reported `json:"error,omitempty"`
	Result  any       `json:"result,omitempty"`
}

// Finish prints the rest of the output and returns the exit code. A failure to print is a
// failure of storage. If the reader of standard output ends early, as head does, that is
// no failure.
func (a *App) Finish(err error) int {
	a.finishing.Lock()
	return a.conclude(err, a.Out, a.Result)
}

// conclude is Finish with out and result, which no other goroutine may use.
func (a *App) conclude(err error, out *bufio.Writer, result any) int {
	a.Console.clear()
	if errors.Is(err, errReaderGone) {
		err = nil
	}
	code, status := ExitCode(err), Classify(err).Name()
	if err == nil && a.Status != "" {
		if status = a.Status; status == StatusNothing {
			code = a.ExitNothing
		}
	}
	a.endRun(code, status)
	r := Ending{Run: a.Run.ID, Command: a.Command, Exit: code, Status: status, Error: Describe(err), Result: result}
	if a.JSON && !a.RowsOut {
		if jsonErr := r.print(out, "  "); jsonErr != nil && !errors.Is(jsonErr, errReaderGone) && err == nil {
			err, code = jsonErr, Classify(jsonErr).Code
		}
	}
	if flushErr := out.Flush(); flushErr != nil && !errors.Is(flushErr, errReaderGone) && err == nil {
		err, code = flushErr, Classify(flushErr).Code
	}
	if err != nil {
		a.Console.fail(a.ofFailed(err), err, code)
	}
	if a.Run.Exit = code; code != r.Exit {
		a.Run.Status = Classify(err).Name()
	}
	a.tell(err)
	a.end(err)
	a.push(err)
	if err != nil {
		a.explain(err)
	}
	if a.JSON && a.RowsOut {
		_ = r.print(a.Console, "") // an error has no place to go
	}
	return code
}

// explain ends the messages of a failed run with lines for people: people read the end of a log,
// and the mails of cron. It prints nothing if the message itself is for people, or if the user
// asked for JSON.
func (a *App) explain(err error) {
	if a.Console.People || a.Logs.Format == "json" {
		return
	}
	message, action := err.Error(), a.program.action(Classify(err))
	if by := (*advised)(nil); errors.As(err, &by) {
		action = by.action
	}
	if d := (*defect)(nil); errors.As(err, &d) {
		message = fmt.Sprint(d.value) // the stack is above
	}
	dest := ""
	if a.Run.Dest != "" {
		dest = "  destination: " + Printable(a.Run.Dest) + "\n"
	}
	_, _ = fmt.Fprintf(a.Console, "%s ended with exit code %d (%s): %s\n%s  what to do: %s\n", // an error has no place to go
		strings.TrimSpace(a.program.Name+" "+a.Command), a.Run.Exit, a.Run.Status, Printable(store.Redact(message)), dest, plain(action))
}

func (r *Ending) print(w io.Writer, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// Summary prints the outcome of the work, unless --json or --quiet is given.
func (a *App) Summary(format string, args ...any) {
	if !a.JSON && !a.Logs.Quiet {
		a.Printf(format, args...)
	}
}

// Printf prints to standard output. Finish reports its errors. Printf makes texts among args
// printable, because names in them may come from files.
func (a *App) Printf(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = Printable(arg)
		case error:
			args[i] = Printable(arg.Error())
		case fmt.Stringer:
			args[i] = Printable(arg.String())
		}
	}
	_, _ = fmt.Fprintf(a.Out, format, args...) // the buffer keeps the error for Flush
}

// Width returns the columns of the terminal on standard output, or 0 if there is no terminal.
func (a *App) Width() int {
	if w, _, err := term.GetSize(int(a.Stdout.File.Fd())); err == nil {
		return w
	}
	return 0
}
