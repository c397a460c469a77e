// Package memstore is a store in memory for tests of code that uses stores. Several processes
// share one disk, each can end at any point, and the power can be cut.
//
// A Disk has two states: the state that processes see, and the durable state. They differ by
// the changes that store.Store does not promise to be durable, which are uncommitted files and
// the work of interrupted calls. A Cut decides for each such change whether it reached the
// disk, and tears the files. It keeps exactly the promises of store.Store.
//
//	disk := memstore.New()
//	a, b := disk.Client(), disk.Client() // two processes
//	a.StopAt(17)                         // a ends at its 17th point
//	...
//	disk.Cut(seed)                       // both end
//	c := disk.Client()                   // after the machine has started again
//
// The points of a client are the start of each call that changes something, and each
// place where that call can be interrupted: half of a Write is done, a RemoveAll has
// removed the first file, a Rename is visible but not durable. A test that stops a
// client at the first point, the second, and so on until the client runs to its end,
// has stopped it everywhere.
package memstore
