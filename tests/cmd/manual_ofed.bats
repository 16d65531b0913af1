#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# manual_ofed: what the manual of AIX promises of OFED and uDAPL, and rsocket(7)
# of rsockets, is what happens here.
#
# A file in tests/cmd/manual_ofed is a chapter, a table of facts: a line that
# begins with "- " is a fact in our words, the indented lines below it are its
# test, a bash script in which every command has to succeed. It runs in a network
# namespace that is 10.77.0.1 on ent0, with a core loaded. One that ends with 77
# is skipped. The function "not" is there for what has to fail.
# lane: any

bats_require_minimum_version 1.5.0
load ../ofed/net

suite_begin() {
	export SMC_R_TUNABLES=$BATS_FILE_TMPDIR/tunables
	export OFED_CONF=$BATS_FILE_TMPDIR/ofed.conf
	export TOP=${SMC_R_TOP:-$PWD}
	export BUILD=${SMC_R_BUILD:-$TOP/build}
	export PATH=$BUILD/bin:$BUILD/samples:$PATH
	# Fast endings.
	printf 'delay_kill=100\ndelay_between_signals=100\n' >"$OFED_CONF"
	ip netns exec "$A" no -r -o roce_v2_mode=1
	ip netns exec "$A" ofedctrl -l 3>&-
	wait_for has_device
}

has_device() {
	ip netns exec "$A" ibv_devinfo -e 2>/dev/null | grep -q 0a4d:0001
}

# rows TABLE: a script for each row, "NUMBER.sh", and its fact, "NUMBER".
rows() {
	awk -v dir="$BATS_TEST_TMPDIR" '
	/^#/ || /^$/ { next }
	/^- / {
		file = sprintf("%s/%03d", dir, ++n)
		print substr($0, 3) >file
		print "not() { ! \"$@\"; }" >(file ".sh")
		next
	}
	/^\t/ && n { print substr($0, 2) >(file ".sh"); next }
	{ print "no row: " $0; exit 1 }' "$1"
}

holds() { # chapter
	local row status bad=0
	rows "$TOP/tests/cmd/manual_ofed/$1"
	cd "$BATS_TEST_TMPDIR" || return
	for row in "$BATS_TEST_TMPDIR"/???; do
		status=0
		timeout 30 ip netns exec "$A" bash -eu -o pipefail "$row.sh" \
			>"$row.log" 2>&1 3>&- || status=$?
		case $status in
		0) ;;
		77) echo "# skipped: $(cat "$row"): $(tail -n 1 "$row.log")" >&3 ;;
		*)
			bad=1
			echo "NOT SO: $(cat "$row")"
			sed 's/^/    /' "$row.sh" "$row.log"
			;;
		esac
	done
	[ $bad = 0 ]
}

@test "OFED" { holds ofed; }
@test "uDAPL" { holds udapl; }
@test "rsockets" { holds rsocket; }
