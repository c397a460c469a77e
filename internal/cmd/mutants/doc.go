// Command mutants finds out whether each guard of the code is missed by a test
// when it is gone:
//
//	mutants [-parallel n] [-timeout 2m] [package...]
//
// A guard is what keeps a promise: a length compared before it is allocated, a
// checksum, a sync, a check before a rename. It is marked where it stands, by a
// line of its own directly above one statement or one case of a switch without
// a tag, which says what it does:
//
//	//guard: rejects a torn file
//	if n != size {
//		return errShort
//	}
//
// For each mark of the packages (by default all of the module) the command
// compiles the package's tests with that one guard disabled, without touching
// the working tree, and runs them with -test.short; what these build with the go
// command is built without the guard, too. A test that fails, crashes or hangs
// has noticed: tests hang that take ten times as long as with all guards, and
// half a minute at least. Tests that something else kills are an error. A mark
// may name further packages, by their directories below the module's root, whose
// tests are run if the guard's own do not notice:
//
//	//guard: keeps a renamed file (tests: ./reducer ./store/location)
//
// These can be disabled: a call, an assignment other than :=, an if, a for, a
// return of one error, and the cases of a switch without a tag. An if that counts
// first (if n++; n > most) goes on counting. Anything else is reported as an
// error, and so is a guard without which the code does not compile: it is to be
// rewritten as a statement of its own.
//
// A condition that is a choice (a || b, or case a, b) is disabled as a whole and
// then one alternative at a time: each of them is a guard, printed as the part of
// that number.
//
// Each guard is printed in a line, as noticed, SURVIVED or error. The exit code
// is 1 unless there are guards and all were noticed.
package main
