// Package configs holds example files for operators: a job file, what cron, systemd,
// Airflow and Kubernetes need, and Hadoop client settings. It has no code but the tests
// that keep the examples true.
package configs
