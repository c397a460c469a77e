// Package jobtest runs whole conversions on a store that fails at every possible
// place, and checks the invariants: no file with the name of an output is incomplete,
// _SUCCESS is only in complete datasets, and a rerun ends with the bytes of an
// undisturbed run and no other files.
//
// The same cases run on every kind of store; see storetest for the stores
// themselves. PowerCuts, which cuts the power at every place, runs only in memory,
// because no other store can lose changes that are not durable.
package jobtest
