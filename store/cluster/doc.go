// Package cluster knows what every way into a Hadoop cluster needs: the client
// configuration, which name nodes an authority stands for, who the user is, what
// a Java exception means, and the delegation tokens that a scheduler handed over.
//
// It reads files and talks to the Kerberos key distribution center. It never
// talks to a name node or a data node.
package cluster
