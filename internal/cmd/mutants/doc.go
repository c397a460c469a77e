// Command mutants checks for each guard of the code whether a test fails without it:
//
//	mutants [-parallel n] [-timeout 2m] [package...]
//
// A guard is code that keeps a promise: a length compared before it is allocated, a
// checksum, a sync, a check before a rename. A comment marks it, on a line of its own
// directly above one statement or one case of a switch without a tag. The comment says
// what the guard does:
//
//	//guard: rejects a torn file
//	if n != size {
//		return errShort
//	}
//
// For each mark of the packages (by default all of the module) the command compiles the
// package's tests with that one guard disabled, without changing the working tree, and
// runs them with -test.short. Programs that the tests build with the go command lack the
// guard, too. A test that fails, crashes or hangs has noticed. Tests hang if they take
// ten times as long as with all guards, and at least half a minute. It is an error if
// another process kills the tests. A mark may name further packages, by their directories
// below the module's root. Their tests run if the guard's own tests do not notice:
//
//	//guard: keeps a renamed file (tests: ./reducer ./store/location)
//
// These can be disabled: a call, an assignment other than :=, an if, a for, a return of
// one error, and the cases of a switch without a tag. An if that counts first (if n++; n
// > most) still counts. Anything else is reported as an error, and so is a guard without
// which the code does not compile. Rewrite such a guard as a statement of its own.
//
// A condition that is a choice (a || b, or case a, b) is disabled as a whole, and then
// one alternative at a time. Each alternative is a guard, printed with its number as a
// part.
//
// The command prints a line for each guard: noticed, SURVIVED or error. The exit code is
// 0 if there are guards and all were noticed, else 1.
package main
