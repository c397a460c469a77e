// Package catalogs opens the catalogs of tables, and judges their errors.
//
//	sql     a SQLite file
//	hadoop  directories: the metadata of a table is in <warehouse>/<namespace>/<table>/metadata
//	rest    a server that speaks Iceberg's REST protocol
//	hive    a Hive metastore
//	glue    AWS Glue
package catalogs
