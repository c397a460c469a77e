package mapper

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
)

// Source is a range of one input file.
type Source struct {
	Name string
	// Open, if set, opens the source when its turn comes. The Source that it returns
	// replaces this one. Few of many sources are open at a time.
	Open   func(ctx context.Context) (Source, error)
	R      io.ReaderAt
	Size   int64 // of the file
	Header *ocf.Header
	Range  ocf.Range
	// Resolution turns the rows into rows of the mapping's schema; nil if they have it.
	Resolution *shred.Resolution
	// Close, if set, is called once, after the last read.
	Close func()
}

// openSource is a source that is being read. The scanner and each block of it hold it;
// the last holder closes it.
type openSource struct {
	Source
	holders atomic.Int32
	open    chan struct{} // has a token for each open source; nil if there is no limit
}

// openSource opens a source for the reader, when few enough are open.
func (in *reader) openSource(ctx context.Context, s Source) (*openSource, error) {
	if in.open != nil {
		select {
		case in.open <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	src := &openSource{Source: s, open: in.open}
	if s.Open != nil {
		var err error
		if src.Source, err = s.Open(ctx); err != nil {
			return nil, err
		}
	}
	return src.hold(), nil
}

func (s *openSource) hold() *openSource {
	s.holders.Add(1)
	return s
}

func (s *openSource) release() {
	if s.holders.Add(-1) > 0 {
		return
	}
	if s.Close != nil {
		s.Close()
	}
	if s.open != nil {
		<-s.open
	}
}
