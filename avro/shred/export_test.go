package shred

// RowPlainly is Row without shortcuts.
func (s *Shredder) RowPlainly(datum []byte) (int, error) { return s.row(datum, nil) }

// LimitRows makes the assembler reject rows of more bytes.
func (a *Assembler) LimitRows(bytes int) { a.limit = bytes }
