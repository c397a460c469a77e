package dataset

// checkOnly checks Query.Only.
func (d *Dataset) checkOnly(only map[int][]int64) error {
	for number, rows := range only {
		if number < 0 || number >= len(d.list.Parts) {
			return queryf("there is no part %d; the dataset has %d", number, len(d.list.Parts))
		}
		p := &d.list.Parts[number]
		if p.avro {
			return queryf("%s: rows of an Avro file cannot be read by their numbers", p.Name)
		}
		last := int64(-1)
		for _, row := range rows {
			if row <= last || row >= p.Rows {
				return queryf("%s: row %d does not follow row %d, or is not among %d", p.Name, row, last, p.Rows)
			}
			last = row
		}
	}
	return nil
}
