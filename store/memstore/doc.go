// Package memstore is a store in memory for tests of what uses stores: several
// processes share one disk, each can end at any point, and the power can be
// cut.
//
// A Disk keeps two states: what processes see, and what is durable. They differ
// by what store.Store does not promise to be durable: files that were not
// committed, and what calls had done that were cut short. A Cut decides for each
// such change whether it had reached the disk, tears the files, and goes on with
// what is left. It keeps exactly what store.Store promises.
//
//	disk := memstore.New()
//	a, b := disk.Client(), disk.Client() // two processes
//	a.StopAt(17)                         // a ends at its 17th point
//	...
//	disk.Cut(seed)                       // both end
//	c := disk.Client()                   // after the machine has started again
//
// The points of a client are the start of each call that changes something, and
// each place within one where it can be cut short: half of a Write is done, a
// RemoveAll has removed the first file, a Rename is in view but not durable. So
// a test that stops a client at the first point, the second, and so on until the
// client is not stopped any more, has stopped it everywhere.
package memstore
