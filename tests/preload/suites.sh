#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# suites: the tests that other programs bring with them, with and without the
# library; what differs, test by test, fails.
#
# usage: tests/preload/suites.sh python MODULE...	CPython's own tests, and
#							those of Tornado, Twisted
#	 tests/preload/suites.sh glib PROGRAM...	GIO's, of libglib2.0-tests
#	 tests/preload/suites.sh stress STRESSOR...	stress-ng with --verify
#	 tests/preload/suites.sh list python|glib|stress	what there is
#
# Needs an SMC-R device that is enabled for 127.0.0.1 and all ports, and
# smc_run in PATH. A test that ended differently is run twice more by itself,
# with and without: only what stays different counts, and is printed. Exit: 0
# equal, 1 different, 77 not installed.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
place=$(mktemp -d "${TMPDIR:-/tmp}/suites.XXXXXX") || exit 2
trap 'rm -rf "$place"' EXIT
limit=${SUITES_LIMIT:-900}
# The one that the package of the test suite belongs to.
python=${PYTHON:-/usr/bin/python3}
glib=/usr/libexec/installed-tests/glib
# Sets small buffers and counts on a writer that gets no further ahead of its
# reader. Here that is a ring: DIFFERENCES FROM TCP in smc_r(7).
known=test_sendfile_close_peer_in_the_middle_of_receiving

python_modules=(
	test_socket test_select test_selectors test_epoll test_poll
	test_asyncio.test_base_events test_asyncio.test_buffered_proto
	test_asyncio.test_events test_asyncio.test_proactor_events
	test_asyncio.test_selector_events test_asyncio.test_sendfile
	test_asyncio.test_server test_asyncio.test_sock_lowlevel
	test_asyncio.test_ssl test_asyncio.test_sslproto
	test_asyncio.test_streams test_asyncio.test_subprocess
	test_asyncio.test_unix_events test_socketserver test_ssl test_httplib
	test_httpservers test_ftplib test_xmlrpc test_poplib test_smtplib
	test_telnetlib test_urllib2_localnet test_asyncore test_asynchat
	test_imaplib test_nntplib test_docxmlrpc test_wsgiref test_signal
	tornado.test.tcpserver_test tornado.test.tcpclient_test
	tornado.test.iostream_test tornado.test.httpserver_test
	tornado.test.simple_httpclient_test tornado.test.websocket_test
	twisted.test.test_tcp twisted.test.test_protocols
	twisted.test.test_internet twisted.internet.test.test_tcp
	twisted.internet.test.test_endpoints
	test_multiprocessing_fork
	test_multiprocessing_spawn test_multiprocessing_forkserver
	test_multiprocessing_main_handling
)
glib_programs=(
	gdbus-auth gdbus-connection gdbus-peer gdbus-server-auth
	gdbus-threading network-address pollable proxy-test resolver-parsing
	socket socket-listener socket-service
)
stressors=(sock sockmany sockfd close epoll poll sockpair sockdiag)

# One run of a module's tests into a sorted list of results. The words before
# "python3" are the wrapper.
python_run() { # results, module, tests..., -- wrapper...
	local results=$1 module=$2 tests=()
	shift 2
	while [ "$1" != -- ]; do
		tests+=("$1")
		shift
	done
	shift
	(
		cd "$place" && timeout -k 5 "$limit" "$@" "$python" \
			"$here/cpython_tests.py" "$module" "$results.raw" \
			${tests[@]+"${tests[@]}"} >"$results.log" 2>&1
	) || echo "# the run broke off: exit $?" >>"$results.raw"
	sort "$results.raw" >"$results"
}

# Tests that ended differently in two sorted lists.
different() { # list, list
	diff "$1" "$2" | sed -n 's/^[<>] \(.*\) [a-z]*$/\1/p' | grep '^test' |
		sort -u
}

# Run by itself until it ends as it did on TCP; a test of time may need it.
stays_different() { # module, test
	local round
	for round in 1 2; do
		[ "$round" = 1 ] || sleep 1
		python_run "$place/again.plain" "$1" "$2" --
		python_run "$place/again.smc" "$1" "$2" -- smc_run
		cmp -s "$place/again.plain" "$place/again.smc" && return 1
	done
	return 0
}

python_suite() { # module
	local module=$1 name bad=0
	python_run "$place/plain" "$module" --
	python_run "$place/smc" "$module" -- smc_run
	if ! grep -q '^# end' "$place/smc" && grep -q '^# end' "$place/plain"; then
		echo "$module: did not come to its end; the last test began:"
		grep '^test' "$place/smc.log" | tail -n 1
		return 1
	fi
	for name in $(different "$place/plain" "$place/smc"); do
		stays_different "$module" "$name" || continue
		[ "${name##*.}" != "$known" ] || {
			echo "known: $name"
			continue
		}
		bad=$((bad + 1))
		echo "DIFFERENT: $name"
		echo "  plain: $(grep -F "$name " "$place/again.plain")"
		echo "  smc:   $(grep -F "$name " "$place/again.smc")"
		grep -v '^test' "$place/again.smc.log" | tail -n 12 |
			sed 's/^/    /'
	done
	echo "$module: $(grep -c ' ok$' "$place/smc") ok," \
		"$(grep -c ' skipped$' "$place/smc") skipped," \
		"$(grep -c -e ' failed$' -e ' error$' "$place/plain") failed" \
		"on plain TCP, $bad different"
	[ "$bad" = 0 ]
}

# The words "ok" and "not ok" of its TAP, with the names.
glib_run() { # program, results, wrapper...
	local program=$1 results=$2
	shift 2
	(
		cd "$glib" || exit
		G_TEST_SRCDIR=$glib G_TEST_BUILDDIR=$glib dbus-run-session -- \
			timeout -k 5 120 "$@" "./$program" --tap 2>&1
	) >"$results.log"
	echo "exit $?" >>"$results.log"
	grep -E '^(ok|not ok|exit) ' "$results.log" >"$results"
}

glib_suite() { # program
	glib_run "$1" "$place/plain"
	glib_run "$1" "$place/smc" smc_run
	echo "glib $1: $(grep -c '^ok ' "$place/smc") ok"
	diff "$place/plain" "$place/smc" && return 0
	tail -n 20 "$place/smc.log" | sed 's/^/    /'
	return 1
}

stress_run() { # stressor, wrapper...
	local stressor=$1
	shift
	timeout -k 5 120 "$@" stress-ng "--$stressor" 2 "--$stressor-ops" 2000 \
		--timeout 10s --verify --temp-path "$place" \
		>"$place/stress.log" 2>&1
}

stress_suite() { # stressor
	local plain smc
	stress_run "$1"
	plain=$?
	stress_run "$1" smc_run
	smc=$?
	echo "stress-ng --$1: exit $smc, $plain on plain TCP"
	[ "$plain" = "$smc" ] && return 0
	tail -n 20 "$place/stress.log" | sed 's/^/    /'
	return 1
}

kind=${1-}
shift || true
status=0
case $kind in
list)
	case ${1-} in
	python) printf '%s\n' "${python_modules[@]}" ;;
	glib) printf '%s\n' "${glib_programs[@]}" ;;
	stress) printf '%s\n' "${stressors[@]}" ;;
	esac
	;;
python)
	"$python" -c 'import test.test_socket' 2>/dev/null || {
		echo "libpython3.11-testsuite is not installed"
		exit 77
	}
	for name in "$@"; do
		python_suite "$name" || status=1
	done
	;;
glib)
	[ -x "$glib/socket" ] && command -v dbus-run-session >/dev/null || {
		echo "libglib2.0-tests is not installed"
		exit 77
	}
	for name in "$@"; do
		glib_suite "$name" || status=1
	done
	;;
stress)
	command -v stress-ng >/dev/null || {
		echo "stress-ng is not installed"
		exit 77
	}
	for name in "$@"; do
		stress_suite "$name" || status=1
	done
	;;
*)
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
	;;
esac
exit $status
