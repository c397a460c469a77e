// Command bench measures the built program against its codec floor: what the
// same input blocks cost to decompress, and the same column blocks to compress
// and checksum, by the program's own codec calls and with nothing else done.
// It prints tables on standard output; "make bench" builds the program first.
//
//	bench -only 'mail/|flat400' -runs 9     some of the cases, more often
//	bench -scale 0.1                        a tenth of the rows
//	bench -only '^saturation/'              one of the tables after the first
//	bench -profile profiles                 also a CPU profile per case and stage
//
// Each round measures everything once, so that ratios compare what ran within
// the same seconds; the tables show medians of the rounds. The program runs as
// a child process, whose CPU time and peak memory the kernel reports; the floor
// and the stages run in this process, on data that is in memory.
//
// The test TestGate holds the stages to committed ratios; see gate_test.go.
package main
