# Convert the mail that is new, and make an Iceberg table hold it: sh table.sh
#
# Both programs read the same job file. As in nightly.sh, messages go to the log, and this
# script prints only failures, which cron mails. If the first step fails, the table stays
# as it was. A later run completes what a failed run left, and adds each file once.
set -u
logs=/var/log/rowtocol

step() {
	messages=$("$@" --config /etc/rowtocol/table.yaml 2>&1 >/dev/null)
	code=$?
	[ -z "$messages" ] || printf '%s\n' "$messages" >>"$logs/nightly.log"
	[ $code -eq 0 ] && return
	text=$(printf '%s\n' "$messages" | grep -v '^{')
	printf '%s\nexit code %d\n%s\nAll messages are in %s.\n' "$*" $code "${text:-$messages}" "$logs/nightly.log"
	[ $code -eq 8 ] || exit $code
}

step rowtocol convert
step rowtocol-iceberg sync
