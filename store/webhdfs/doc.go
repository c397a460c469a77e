// Package webhdfs is the store of files on HDFS over HTTP. It uses the WebHDFS of the name nodes
// and data nodes, or an HttpFS server, which has the same protocol.
//
// A name node answers requests about names, and redirects reads and writes to a data
// node. That node writes with Hadoop's own client: another node of the replication
// pipeline may fail without harm, and files in encryption zones are encrypted. But if
// the node itself fails, the upload fails. When the connection breaks, it closes the
// file as if it were complete, so only a file that Commit has checked is valid.
//
// A user name identifies the user. On a secure cluster a delegation token does so. It is in the
// file of HADOOP_TOKEN_FILE_LOCATION, or is fetched with Kerberos, and renewed and replaced when
// needed.
//
// No operation makes a directory without its parents. So Mkdir makes a directory elsewhere and
// renames it.
//
// HttpFS differs in two ways. It has no rename that always replaces, nor one that never
// does. So Rename checks first, and reverts a move into a directory that appeared
// meanwhile; WriteFile overwrites a file, and ReadFile waits while the file is briefly
// empty. HttpFS also always makes the missing parents of a new file. Create checks that
// the directory exists, but if that is moved away just after the check, HttpFS makes it
// again, with the file in it.
package webhdfs
