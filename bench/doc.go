// Command bench measures the built program against its codec floor: the cost of
// decompressing the same input blocks, and of compressing and checksumming the same
// column blocks, by the program's own codec calls and without other work. It prints
// tables on standard output; "make bench" builds the program first.
//
//	bench -only 'mail/|flat400' -runs 9     some of the cases, more often
//	bench -scale 0.1                        a tenth of the rows
//	bench -only '^saturation/'              one of the tables after the first
//	bench -read trevni -base old/rowtocol   commands that read, compared with another build
//	bench -profile profiles                 also a CPU profile per case and stage
//
// Each round measures everything once, so that ratios compare runs within the same seconds.
// The tables show medians of the rounds. The program runs as a child process, whose CPU
// time and peak memory the kernel reports. The floor and the stages run in this process,
// on data in memory.
//
// The test TestGate compares the stages with committed ratios; see gate_test.go.
package main
