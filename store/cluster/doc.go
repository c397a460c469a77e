// Package cluster has the common parts of all clients of a Hadoop cluster: the client
// configuration, the name nodes of an authority, the user's login, the meaning of Java
// exceptions, and the delegation tokens of a scheduler.
//
// It reads files and talks to the Kerberos key distribution center. It never
// talks to a name node or a data node.
package cluster
