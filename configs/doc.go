// Package configs holds example files for operators: a job file, a cron
// entry, an Airflow DAG and Hadoop client settings. It has no code but the tests that keep the examples
// true.
package configs
