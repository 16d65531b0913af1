# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# neighbour: SMC-R version 1 of ours with the kernel's, both in one virtual
# machine, of which the kernel's side is a second host (neighbour.sh). Comes after
# vm.bash; $TOP is the directory of what was built.

# shellcheck disable=SC2034 # suites use it
NEIGHBOUR=10.77.0.77
PORT=18700

# Prints what the kernel's side counted: clients on versions 1 and 2, servers.
versions() {
	guest "ip netns exec neighbour $BATS_TEST_DIRNAME/smc.py versions"
}

# So many more connections have used version 1 there, and none version 2.
on_version1() { # of the kernel's clients, of its servers
	local before=$BATS_FILE_TMPDIR/versions
	local -a now was=(0 0 0 0)

	[ ! -e "$before" ] || read -ra was <"$before"
	read -ra now <<<"$(versions)"
	echo "before: ${was[*]}; now: ${now[*]}; expected: $1, $2 more"
	echo "${now[*]}" >"$before"
	[ $((now[0] - was[0])) = "$1" ] && [ "${now[1]}" = 0 ] &&
		[ $((now[2] - was[2])) = "$2" ] && [ "${now[3]}" = 0 ]
}

# Both ends in the machine. The last line of ours is printed last.
pair() { # ours is, address, our options, the kernel's
	local talk=$TOP/obj/plain/tests/rc/talk
	local ours="$TOP/obj/plain/tests/rc/syn_option $PORT $talk -q"
	local theirs="ip netns exec neighbour $talk -q -k"
	local server="$ours -l -p $PORT $3" client="$theirs -p $PORT $4"

	[ "$1" = server ] || {
		server="$theirs -l -p $PORT $4" client="$ours -p $PORT $3"
	}
	guest "rm -f /run/server
		timeout 60 $server -c $2 >/run/server 2>&1 & pid=\$!
		until grep -qs listening /run/server; do sleep 0.05; done
		timeout 60 $client -c $2 >/run/client 2>&1; status=\$?
		wait \$pid || status=1
		[ $1 = server ] || cat /run/server /run/client
		[ $1 = client ] || cat /run/client /run/server
		exit \$status" >"$BATS_TEST_TMPDIR/talk" || {
		cat "$BATS_TEST_TMPDIR/talk"
		guest "dmesg | tail -n 20"
		return 1
	}
}

# All were on SMC-R, version 1, by our count.
pair_says() { # how many, further words of the sum...
	local word

	for word in "smc=$1" "v1=$1" "${@:2}"; do
		tail -n 1 "$BATS_TEST_TMPDIR/talk" | grep -qw -- "$word" || {
			cat "$BATS_TEST_TMPDIR/talk"
			return 1
		}
	done
}
