// Package parquet writes and reads Apache Parquet files of one row group each.
package parquet
