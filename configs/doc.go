// Package configs holds example files for operators: a job file, files for cron, systemd,
// Airflow and Kubernetes, and Hadoop client settings. Its only code is tests, which keep
// the examples correct.
package configs
