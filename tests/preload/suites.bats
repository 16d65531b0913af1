#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# suites: what other programs test of themselves ends the same with the
# library. "make check-long" runs all of it, "make check" the short ones.
# limit: 600
# long: 5000

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${place-}" "${smc_new-}"

setup() {
	smc_begin
	suites=$BATS_TEST_DIRNAME/suites.sh
}

long() {
	[ -n "${SMC_R_LONG-}" ] || skip "long: make check-long"
}

suite() { # kind, names...
	run "$suites" "$@"
	echo "$output"
	[ "$status" -ne 77 ] || skip "$output"
	[ "$status" -eq 0 ]
}

@test "CPython: poll, select, epoll" {
	suite python test_poll test_select test_epoll
}

@test "CPython: servers" {
	long
	suite python test_socketserver test_asyncio.test_server \
		test_asyncio.test_sock_lowlevel
	smc_count
	[ "$smc_new" -gt 0 ]
}

@test "CPython: sockets" {
	long
	suite python test_socket
	smc_count
	[ "$smc_new" -ge 200 ]
}

@test "CPython: selectors, asyncio" {
	long
	local modules
	mapfile -t modules < <("$suites" list python |
		grep -e asyncio -e selectors)
	suite python "${modules[@]}"
	smc_count
	[ "$smc_new" -ge 100 ]
}

@test "CPython: protocols" {
	long
	suite python test_ssl test_httplib test_httpservers test_ftplib \
		test_xmlrpc test_poplib test_smtplib test_telnetlib \
		test_urllib2_localnet
	smc_count
	[ "$smc_new" -ge 100 ]
}

@test "CPython: older protocols, signals" {
	long
	suite python test_asyncore test_asynchat test_imaplib test_nntplib \
		test_docxmlrpc test_wsgiref test_signal
	smc_count
	[ "$smc_new" -ge 100 ]
}

@test "Tornado" {
	long
	/usr/bin/python3 -c 'import tornado.test' || skip "python3-tornado is not installed"
	local modules
	mapfile -t modules < <("$suites" list python | grep '^tornado\.')
	suite python "${modules[@]}"
	smc_count
	[ "$smc_new" -ge 200 ]
}

@test "Twisted" {
	long
	/usr/bin/python3 -c 'import twisted.test' || skip "python3-twisted is not installed"
	local modules
	mapfile -t modules < <("$suites" list python | grep '^twisted\.')
	suite python "${modules[@]}"
	smc_count
	[ "$smc_new" -ge 200 ]
}

@test "GIO" {
	long
	local programs
	mapfile -t programs < <("$suites" list glib)
	suite glib "${programs[@]}"
	smc_count
	[ "$smc_new" -ge 20 ]
}

@test "CPython: multiprocessing" {
	long
	suite python test_multiprocessing_fork test_multiprocessing_spawn \
		test_multiprocessing_forkserver \
		test_multiprocessing_main_handling
}

@test "stress-ng: sockets, threads that close the same descriptors" {
	suite stress sock sockfd close
}

@test "stress-ng: readiness, many sockets" {
	long
	suite stress epoll poll sockmany sockpair sockdiag
}
