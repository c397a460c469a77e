// Package jobtest runs whole conversions on a store that fails at every place
// where it can, and holds them to the invariants: no output name shows
// incomplete bytes, _SUCCESS stands over whole datasets only, and a rerun ends
// with the bytes of an undisturbed run and nothing beside them.
//
// The same cases run on every kind of store; see storetest for the stores
// themselves. PowerCuts, which cuts the power at every place, runs in memory
// only: no other store can lose what is not durable.
package jobtest
