#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# deps: which packages tests/install-deps.sh finds missing, in a tree and on a
# host that are made up.
# lane: any

setup() {
	tree=$BATS_TEST_TMPDIR
	mkdir -p "$tree/tests" "$tree/debian/tests" "$tree/bin"
	cp "$BATS_TEST_DIRNAME/../install-deps.sh" "$tree/tests/"
	cat >"$tree/debian/control" <<-'EOT'
		Source: smc-r
		Build-Depends: compiler (>= 12), ${misc:Depends}

		Package: smc-r
		Depends: never-read
	EOT
	cat >"$tree/debian/tests/control" <<-'EOT'
		Test-Command: make check
		Depends: server | mail-agent,
		 tool [amd64] <!nocheck>,
		 a.b

		Test-Command: make other
		Depends: never-read
	EOT
	cat >"$tree/bin/dpkg-query" <<-'EOT'
		#!/bin/sh
		cat "${0%/bin/*}/status"
	EOT
	chmod 755 "$tree/bin/dpkg-query"
}

missing() { # lines of the status...
	printf '%s\n' "$@" >"$tree/status"
	PATH=$tree/bin:$PATH "$tree/tests/install-deps.sh" -n check | tr '\n' ' '
}

@test "what is not installed is missing, the first of alternatives" {
	[ "$(missing 'config-files tool, ' 'installed aXb, ')" = \
		"a.b compiler server tool " ]
}

@test "what is installed is not" {
	[ "$(missing 'installed compiler, ' 'installed tool, ' \
		'installed server, ' 'installed a.b, ')" = "" ]
}

# Installing the first would take the other one away.
@test "nor the first of alternatives where another one is provided" {
	[ "$(missing 'installed other-server, other (= 1), mail-agent' \
		'installed compiler, ')" = "a.b tool " ]
}
