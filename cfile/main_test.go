package cfile

// Files of some blocks are verified in several ranges.
func init() { verifyRange = 200 }
