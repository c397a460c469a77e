package tables

import "context"

func (s *syncer) expire(context.Context) error { return nil }
