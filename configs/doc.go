// Package configs holds example files for operators: a job file, a cron entry
// and an Airflow DAG. It has no code but the tests that keep the examples
// true.
package configs
