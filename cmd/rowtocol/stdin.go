package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// stdinName stands for standard input on the command line.
	stdinName = "-"
	// stdinPath is the path of standard input as a file.
	stdinPath = "/dev/stdin"
)

// resolveInputs is resolveAll for inputs. One input may be standard input. If standard input
// is a file, its location is that file. Otherwise it becomes the stream of the options.
func (a *app) resolveInputs(ctx context.Context, names []string, o *dataset.Options) ([]store.Location, error) {
	at := make([]store.Location, len(names))
	for i, name := range names {
		var err error
		if isStream(name) {
			at[i].Path = "standard input"
			o.Stream, err = a.stream(ctx)
		} else {
			at[i], err = a.Resolve(asFile(name))
		}
		if err != nil {
			return nil, err
		}
	}
	return at, nil
}

// asFile returns the path of an input. For standard input, it returns stdinPath.
func asFile(name string) string {
	if name == stdinName {
		return stdinPath
	}
	return name
}

// isStream reports whether a name stands for standard input, and standard input can only be
// read from start to end.
func isStream(name string) bool {
	if name != stdinName {
		return false
	}
	info, err := os.Stdin.Stat()
	return err != nil || !info.Mode().IsRegular()
}

// stream checks the first bytes of standard input, and returns it.
func (a *app) stream(ctx context.Context) (io.Reader, error) {
	if a.stdinTaken {
		return nil, cli.Usagef("standard input can be read only once; name - once")
	}
	a.stdinTaken = true
	in := &stdin{ctx: ctx, file: os.Stdin}
	head := make([]byte, format.HeadSize)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	if formats.OfFile(head[:n]) != nil {
		return nil, cli.Usagef("a column file cannot be read from a pipe: name the file, or redirect it with <")
	}
	return io.MultiReader(bytes.NewReader(head[:n]), in), nil
}

// stdin is standard input. A read fails when ctx ends, because the writer of a pipe may have
// stopped writing.
type stdin struct {
	ctx  context.Context
	file *os.File
	rest []byte // bytes that were read but not returned yet
	err  error  // error to return after rest
}

// stdinPiece is the size of one read, in bytes.
const stdinPiece = 256 << 10

func (s *stdin) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.err == nil {
		s.read()
	}
	n := copy(p, s.rest)
	if s.rest = s.rest[n:]; n > 0 {
		return n, nil
	}
	return 0, s.err
}

func (s *stdin) read() {
	type result struct {
		piece []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		b := make([]byte, stdinPiece) // not reused, because the read may go on after ctx has ended
		n, err := s.file.Read(b)
		done <- result{b[:n], err}
	}()
	select {
	case r := <-done:
		if s.rest, s.err = r.piece, r.err; s.err != nil && s.err != io.EOF {
			s.err = fmt.Errorf("standard input: %w", s.err)
		}
	case <-s.ctx.Done():
		s.err = context.Cause(s.ctx)
	}
}
