// Package e2e holds the tests of the built binary: what a user would run,
// judged by Apache Avro's Java Trevni (see java/run.sh), by Kudu's own tool (see
// kudu/), by goavro, by pandas, DuckDB and Polars (see python/), in a soak by Spark
// (see spark/) and run by Airflow (see airflow/), and by what is left on disk, or on a
// real HDFS (see hadooptest), after kills and failures.
//
//	ROWTOCOL_CORPUS=DIR     a folder of Avro files with an INDEX.tsv; default
//	                        ../testdata/real
//	ROWTOCOL_PROGRAM=FILE   the built program; default: one that is built now
//	ROWTOCOL_E2E=required   fail, rather than skip, without Java and Maven,
//	                        Hadoop, Kudu, a Kerberos server, Chromium, Python's
//	                        packages, or the right to mount small disks;
//	                        default: skip
//	ROWTOCOL_STARTER=PID    a process whose end ends the tests, too
//	ROWTOCOL_SOAK=N         number of kills, default 2; with it, nothing is thinned
package e2e
