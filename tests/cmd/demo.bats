#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# demo: "make demo" beside another one, and without a network.

setup() {
	tree=${SMC_R_TOP:-$PWD}
	place=$BATS_TEST_TMPDIR
}

@test "two at once" {
	local program
	for program in python3 curl make; do
		command -v $program >/dev/null || skip "no $program"
	done
	export DEMO_MB=8
	unset MAKEFLAGS MAKELEVEL ODMDIR SMC_R_RUNDIR
	make --no-print-directory -C "$tree" demo >"$place/other" 2>&1 3>&- &
	run make --no-print-directory -C "$tree" demo
	wait $! || {
		cat "$place/other"
		false
	}
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "OK: SMC carried the file"* ]]
	tail -n 1 "$place/other" | grep -q "^OK: SMC carried the file"
	[ -z "$(ls -d "$tree"/build/demo.[0-9]* 2>/dev/null)" ]
}

# A host that is made up: one package is missing, and apt-get gets nothing.
@test "without a network it says in a line what is missing" {
	mkdir -p "$place/bin" "$place/tree/debian/tests" "$place/tree/tests"
	cp "$tree/tests/install-deps.sh" "$place/tree/tests"
	cp "$tree/debian/control" "$place/tree/debian"
	cp "$tree/debian/tests/control" "$place/tree/debian/tests"
	cat >"$place/bin/apt-get" <<-'EOT'
		#!/bin/sh
		echo "E: Temporary failure resolving 'deb.debian.org'" >&2
		exit 100
	EOT
	# All are there but curl.
	cat >"$place/bin/dpkg-query" <<-'EOT'
		#!/bin/sh
		dir=${0%/bin/*}/tree/debian
		cat "$dir/control" "$dir/tests/control" | tr -c 'a-z0-9.+-' '\n' |
			grep -vx curl | sed 's/.*/installed &, /'
	EOT
	printf '#!/bin/sh\necho 12345\n' >"$place/bin/id"
	# Nothing of the host is written.
	cat >"$place/bin/sudo" <<-'EOT'
		#!/bin/sh
		shift
		case ${1-} in
		env | apt-get) exec "$@" ;;
		esac
	EOT
	chmod 755 "$place"/bin/*
	PATH=$place/bin:$PATH run "$place/tree/tests/install-deps.sh" demo
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 2 ]
	[ "${lines[0]}" = "install-deps: installing curl" ]
	[[ ${lines[1]} == "install-deps: these packages are missing, "*"is there a network?): curl" ]]
}
