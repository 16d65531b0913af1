#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# suite: one suite, from its start to its last process.
#
# usage: tests/suite.sh SECONDS command...
#
# tests/run.sh starts it, as the first process of a PID namespace or at least as
# a subreaper: whatever the suite's processes do, they stay its descendants. After
# the suite's own output it prints a line "not ok" when the time is over, with
# what ran then and what each process waited for, and one when processes are
# left a second after the end. Then it ends them. The exit is the suite's, or 124.
set -u
seconds=$1
shift

if [ $$ = 1 ]; then
	# Names made of process ids must meet nobody else's. The tree stays
	# where it is.
	case $SUITE_TOP in
	/tmp/*)
		mkdir -p "$SUITE_TMP/${SUITE_TOP#/tmp/}" || exit 125
		mount --bind "$SUITE_TOP" "$SUITE_TMP/${SUITE_TOP#/tmp/}" ||
			exit 125
		;;
	esac
	mount --rbind "$SUITE_TMP" /tmp && cd "$SUITE_TOP" || exit 125
	[ ! -d /dev/shm ] ||
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 125
	# What is attached, pinned or named here is gone with the last process.
	mount -t bpf bpf /sys/fs/bpf 2>/dev/null
	mkdir -p /run/netns && mount -t tmpfs -o mode=755 tmpfs /run/netns
fi

# The descendants of this process, in "left". No other child of ours may run
# meanwhile. Only files that a stuck process does not hold are read.
find_left() {
	local pid up file stat words parents=()
	for file in /proc/[0-9]*/stat; do
		# Up to its end: a name may hold a newline.
		stat=
		read -r -d '' stat 2>/dev/null <"$file"
		read -ra words <<<"${stat##*) }"
		# One may have gone meanwhile; a zombie waits for its parent.
		case ${words[0]-} in
		'' | Z | X) ;;
		*) parents[${stat%% *}]=${words[1]} ;;
		esac
	done
	left=()
	for pid in "${!parents[@]}"; do
		up=${parents[pid]}
		while [ "${up:-0}" -gt 1 ] && [ "$up" != $$ ]; do
			up=${parents[up]-}
		done
		[ "$up" != $$ ] || left+=("$pid")
	done
}

# Their names may hold anything.
show_left() {
	local list
	printf -v list '%s,' "${left[@]}"
	timeout -k 1 10 ps -o pid,ppid,stat,etime,wchan:20,args -p "${list%,}" |
		cut -c 1-150 | tr -c '\n[:print:]' '?' | sed 's/^/# /'
}

end_left() {
	[ ${#left[@]} = 0 ] || kill -KILL "${left[@]}" 2>/dev/null
}

# The end of the suite comes as a line, as "read" can wait with a limit.
exec 9<> <(:)
trap 'find_left; end_left; exit 143' TERM
(
	"$@" 9>&-
	echo $? >&9
) &
if read -r -t "$seconds" -u 9 status; then
	wait $!
	for ((i = 0; i < 10; i++)); do
		find_left
		[ ${#left[@]} != 0 ] || exit "$status"
		sleep 0.1
	done
	printf '\nnot ok - left running:\n'
else
	status=124
	find_left
	printf '\nnot ok - stopped after its time limit of %s seconds:\n' \
		"$seconds"
fi
show_left
end_left
exit "$status"
