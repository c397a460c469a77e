package parquet

// Columns of some pages are verified in several ranges.
func init() { verifyRange = 2000 }
