// Package storetest tests stores and the users of stores: Run is one suite
// that every store.Store must pass, and Faulty wraps a store to make chosen
// calls fail.
package storetest
