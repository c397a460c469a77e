# Convert one day of mail and check it: sh nightly.sh 2026-01-04
# The same on HDFS, by the nodes of a Hadoop cluster: sh nightly.sh 2026-01-04 submit
#
# Messages of rowtocol go to the log. cron mails everything that a command prints, so
# this script prints only failures: the exit code, and the messages for people, which are
# the lines that are not JSON. Exit code 8 means that the output lacks damaged input; the
# output is checked like any other.
#
# A day's output is in a directory dt=DAY, so "rowtocol count /data/mail.columns" and the
# other commands that read take all days as one dataset with the column dt.
#
# Only one run at a time works on this machine, because two would need twice the memory
# and temporary disk. A second run waits, for any day, and gives up after 20 hours. The
# lock is the kernel's, on the directory of the log, and ends with the last process that
# holds it. Two machines may run this script at once: rowtocol locks the destination
# itself, and one of the runs ends with 5.
set -u
day=$1
command=${2:-convert}
mail=/data/mail/$day
columns=/data/mail.columns/dt=$day
if [ "$command" = submit ]; then
	mail=hdfs://$mail
	columns=hdfs://$columns
fi
logs=/var/log/rowtocol

if ! [ -r "$logs" ] || ! [ -w "$logs" ]; then
	echo "rowtocol: $day was not converted: $logs is missing, or $(id -un) may not use it; as root: install -d -o etl -g etl $logs"
	exit 1
fi
exec 9<"$logs"
if ! flock -w 72000 9; then
	echo "rowtocol: $day was not converted: another run has worked for 20 hours"
	exit 5
fi

step() {
	messages=$(rowtocol --config /etc/rowtocol/job.yaml "$@" 2>&1 >/dev/null)
	code=$?
	[ -z "$messages" ] || printf '%s\n' "$messages" >>"$logs/nightly.log"
	[ $code -eq 0 ] && return
	text=$(printf '%s\n' "$messages" | grep -v '^{')
	printf 'rowtocol %s\nexit code %d\n%s\nAll messages are in %s.\n' "$*" $code "${text:-$messages}" "$logs/nightly.log"
	[ $code -eq 8 ] || exit $code
}

step "$command" --incremental "$mail" "$columns"
step verify "$columns" --against "$mail" --require-complete
