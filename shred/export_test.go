package shred

// RowPlainly is Row without short cuts.
func (s *Shredder) RowPlainly(datum []byte) (int, error) { return s.row(datum, nil) }
