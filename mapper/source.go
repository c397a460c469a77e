package mapper

import (
	"context"
	"sync/atomic"
)

// openSource is a source that is being read, by the scanner and by all who have
// a block of it. The last of them closes it.
type openSource struct {
	Source
	holders atomic.Int32
}

// open opens a source for the scanner.
func (s Source) open(ctx context.Context) (*openSource, error) {
	if s.Open != nil {
		var err error
		if s, err = s.Open(ctx); err != nil {
			return nil, err
		}
	}
	src := &openSource{Source: s}
	return src.hold(), nil
}

func (s *openSource) hold() *openSource {
	s.holders.Add(1)
	return s
}

func (s *openSource) release() {
	if s.holders.Add(-1) == 0 && s.Close != nil {
		s.Close()
	}
}
