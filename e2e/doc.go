// Package e2e holds the tests of the built program. Its outputs are judged by Apache Avro's
// Java Trevni and by parquet-java (see java/run.sh), by Kudu's own tool (see kudu/), by goavro,
// and by fastavro, pyarrow, pandas, DuckDB and Polars (see python/). Tables of Iceberg are judged
// by PyIceberg, DuckDB, iceberg-go and Spark (see python/icebergtables.py), some in a REST catalog
// of Iceberg's own code (see iceberg/). With ROWTOCOL_SOAK, outputs are also judged by Spark (see
// spark/), and Airflow runs the program (see airflow/). After kills and failures, the tests
// check the files on disk or on a real HDFS (see hadooptest).
//
//	ROWTOCOL_CORPUS=DIR     a folder of Avro files with an INDEX.tsv; default
//	                        ../testdata/real
//	ROWTOCOL_PROGRAM=FILE   the built program; default: build a program now
//	ROWTOCOL_E2E=required   fail, rather than skip, without Java and Maven,
//	                        Hadoop, Kudu, a Kerberos server, Chromium, Python's
//	                        packages, or the right to mount small disks;
//	                        default: skip
//	ROWTOCOL_STARTER=PID    a process; the tests end when it ends
//	ROWTOCOL_SOAK=N         number of kills, default 2; with it, tests leave nothing out
package e2e
