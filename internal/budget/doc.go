// Package budget manages the memory that a process may hold.
//
//	Pool ──Reserve──► memory that is certainly needed, before work begins
//	  │
//	  └──Share──► memory that a worker takes in pieces: Try and Take ──► Give
//	               └─ beyond the share: unreserved memory, for one worker at a time
//
// A pool is a number of bytes. Memory that grows with the input is reserved before it
// is allocated, and released when it is not needed. Work that does not fit waits, or
// fails with an Error that says how much it needs.
//
// Each worker has a share, which is enough for data of ordinary size. A value of many
// megabytes does not fit a share. For such a value a worker waits for its turn. In its
// turn it may take all memory that is left in the pool. The turn ends when the worker
// has returned the memory beyond its share. A worker that waits for its turn holds
// nothing beyond its share, so there is no deadlock.
//
// Large pieces come from the system and return to it at once. They are not on the heap,
// so they leave no garbage that is collected too late. They reduce the heap's limit: see
// SetLimit.
package budget
