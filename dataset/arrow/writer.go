package arrow

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// NewStream returns a writer of Arrow's IPC stream format, without
// compression.
func NewStream(w io.Writer, s *arrow.Schema) *ipc.Writer {
	return ipc.NewWriter(onlyWriter{w}, ipc.WithSchema(s))
}

// onlyWriter hides the Close method of a writer.
type onlyWriter struct{ io.Writer }
