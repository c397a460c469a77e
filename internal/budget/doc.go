// Package budget is the one owner of the memory that a process may hold.
//
//	Pool ──Reserve──► what is needed for certain, whole, before work begins
//	  │
//	  └──Share──► what a worker takes piece by piece: Try and Take ──► Give
//	               └─ beyond the share: what nobody reserved, for one at a time
//
// A pool is a number of bytes. What grows with the input is reserved before it is
// allocated, and given back when it is not needed. Work that does not fit waits,
// or is refused by an Error that says what it needs.
//
// Most of what comes is of ordinary size, and for that each worker has a share. A
// value of many megabytes does not fit a share. For such ones there is what is left
// in the pool: the worker that gets the turn may take all of it, and ends its turn
// by giving back what is beyond its share. Whoever waits for the turn holds nothing
// beyond its share, so nobody waits for each other.
//
// Large pieces come from the system and go back to it at once, past the heap, so
// that no garbage is left whose collection would come too late. The heap's limit is
// less by them: see SetLimit.
package budget
