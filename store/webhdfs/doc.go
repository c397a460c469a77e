// Package webhdfs is the store of a Hadoop cluster over HTTP: the name nodes'
// and data nodes' WebHDFS, or an HttpFS server, which speaks the same.
//
// A name node answers what is asked about names, and sends reads and writes on
// to a data node. That writes with Hadoop's own client, so a node of the
// replication pipeline may fail without harm, and files in encryption zones are
// encrypted; the node that was sent to is a single point, though: if it fails,
// the upload has failed. When the connection breaks off, it closes the file as
// if that were all, so only what Commit has checked is a file.
//
// Who asks is told by a user name, or on a secure cluster by a delegation
// token: the one of HADOOP_TOKEN_FILE_LOCATION that is for this cluster, or one
// that is fetched with Kerberos, renewed, and fetched anew as needed.
//
// No operation makes a directory without its parents, so Mkdir makes it
// elsewhere and renames it: see there.
//
// HttpFS differs in two things that matter. It knows no rename that replaces,
// nor one that never does: Rename looks first, and takes back what slipped below
// a directory that appeared meanwhile; WriteFile replaces a file by writing it
// over, so a reader may for a moment find it empty, which ReadFile waits out.
// And it makes the missing parents of a new file, whatever it is told. Create
// looks whether the directory is there, but if that is moved away between the
// look and the creation, it is made again, with the file in it.
package webhdfs
