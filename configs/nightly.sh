# Convert one day of mail and check it: sh nightly.sh 2026-01-04
# The same by the nodes of a Hadoop cluster, on HDFS: sh nightly.sh 2026-01-04 submit
#
# What rowtocol says goes to the log. cron mails whatever a command prints, and so
# this prints nothing but what somebody has to look at: the exit code, and what was
# said. Exit code 8 is an output that lacks damaged input; it is checked like any.
#
# One run at a time works on this machine, for two would need twice the memory and
# temporary disk: a second one waits, whichever day it is for, and does nothing after
# 20 hours. The lock is the kernel's, on the directory of the log, and ends with the
# last process that has it. Two machines may run this at once: rowtocol locks the
# destination itself, and one of them ends with 5.
set -u
day=$1
how=${2:-convert}
mail=/data/mail/$day
columns=/data/mail.columns/$day
if [ "$how" = submit ]; then
	mail=hdfs://$mail
	columns=hdfs://$columns
fi
logs=/var/log/rowtocol

exec 9<"$logs" || exit 1
if ! flock -w 72000 9; then
	echo "rowtocol: $day was not converted, for another run has worked for 20 hours"
	exit 5
fi

step() {
	said=$(rowtocol --config /etc/rowtocol/job.yaml "$@" 2>&1 >/dev/null)
	code=$?
	[ -z "$said" ] || printf '%s\n' "$said" >>"$logs/nightly.log"
	[ $code -eq 0 ] && return
	printf 'rowtocol %s\nexit code %d\n%s\n' "$*" $code "$said"
	[ $code -eq 8 ] || exit $code
}

step "$how" --incremental "$mail" "$columns"
step verify "$columns" --against "$mail" --require-complete
