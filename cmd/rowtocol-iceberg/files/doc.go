// Package files lets iceberg-go read and write files through package store, so that the
// login, the time-outs and the guards of the store hold for the metadata of tables. Local
// paths and the locations of HDFS are served.
//
// iceberg-go names files by locations with or without a scheme, without escapes. New files
// are kept in memory until they are closed, then they are written durably, in one step.
package files
