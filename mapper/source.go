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
	// Open, if set, opens the source shortly before it is read. The Source that Open
	// returns replaces this one. So few of many sources are open at the same time.
	Open   func(ctx context.Context) (Source, error)
	R      io.ReaderAt
	Size   int64 // size of the file
	Header *ocf.Header
	Range  ocf.Range
	// Resolution turns the rows into rows of the mapping's schema. It is nil if the rows
	// have that schema.
	Resolution *shred.Resolution
	// Close, if set, is called once, after the last read.
	Close func()
}

// openSource is a source that is being read. The scanner and each block of the source
// hold a reference. The last release closes the source.
type openSource struct {
	Source
	holders atomic.Int32
	open    chan struct{} // has a token for each open source; nil if there is no limit
}

// openSource opens a source for the reader. It waits while MaxOpen sources are open.
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
