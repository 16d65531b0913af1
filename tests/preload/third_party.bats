#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# third_party: programs of Debian that nobody here wrote, plainly and under
# smc_run: the same output, and the state that their file promises. The table
# in smc_r(7) is made of those promises. "make check-long" runs all of them.
# limit: 1800
# short: ^(each|the|curl|fakeroot|haproxy|memcached|openssl|perl|php_ftp|python_http|rsync|socket_proxyd|strace|wget)( |$)

load smc

setup_file() {
	smc_device
	# One after the other: what came before must not be counted.
	export BATS_NO_PARALLELIZE_WITHIN_FILE=true
}

# The one that the test is named after.
third_party() {
	local suite=$BATS_TEST_DIRNAME/third_party.sh name=$BATS_TEST_DESCRIPTION
	if [ -z "${SMC_R_LONG-}" ] &&
		grep -q '^# length: long' "${suite%.sh}/$name.sh"; then
		skip "long: make check-long"
	fi
	run "$suite" run "$name"
	echo "$output"
	[ "$status" -ne 77 ] || skip "$output"
	[ "$status" -eq 0 ]
}

@test "each program has a test of its name" {
	diff <("$BATS_TEST_DIRNAME/third_party.sh" list) \
		<(sed -n 's/^@test "\([a-z0-9_]*\)" .*/\1/p' \
			"$BATS_TEST_FILENAME")
	# Those that are not long.
	diff <(cd "$BATS_TEST_DIRNAME/third_party" &&
		grep -L '^# length: long' -- *.sh | sed 's/\.sh$//') \
		<(sed -n 's/^# short: ^(each|the|\(.*\)).*(.*/\1/p' \
			"$BATS_TEST_FILENAME" | tr '|' '\n')
}

@test "the table in smc_r(7) says what the tests check" {
	diff <("$BATS_TEST_DIRNAME/third_party.sh" rows) \
		<(sed -n '/^\.Sh PROGRAMS/,/^\.Sh/{/^\.It.* Ta /p}' \
			"$BATS_TEST_DIRNAME/../../man/smc_r.7" | tail -n +2)
}

@test "ada" { third_party; }
@test "anyevent" { third_party; }
@test "apache" { third_party; }
@test "apache_prefork" { third_party; }
@test "aria2" { third_party; }
@test "asio" { third_party; }
@test "axel" { third_party; }
@test "beanstalkd" { third_party; }
@test "bind" { third_party; }
@test "bird" { third_party; }
@test "bun" { third_party; }
@test "busybox" { third_party; }
@test "ccache" { third_party; }
@test "celery" { third_party; }
@test "chromium" { third_party; }
@test "civetweb" { third_party; }
@test "clamav" { third_party; }
@test "coturn" { third_party; }
@test "crystal" { third_party; }
@test "cups" { third_party; }
@test "curl" { third_party; }
@test "cvs" { third_party; }
@test "dante" { third_party; }
@test "dask" { third_party; }
@test "dbus" { third_party; }
@test "distcc" { third_party; }
@test "dns" { third_party; }
@test "dns_tcp" { third_party; }
@test "dnsperf" { third_party; }
@test "dovecot" { third_party; }
@test "dropbear" { third_party; }
@test "emacs" { third_party; }
@test "erlang" { third_party; }
@test "etcd" { third_party; }
@test "exim" { third_party; }
@test "fakeroot" { third_party; }
@test "faketime" { third_party; }
@test "fcgi" { third_party; }
@test "ffmpeg" { third_party; }
@test "firebird" { third_party; }
@test "firefox" { third_party; }
@test "forwarders" { third_party; }
@test "fossil" { third_party; }
@test "freepascal" { third_party; }
@test "ftp" { third_party; }
@test "gdb" { third_party; }
@test "gearman" { third_party; }
@test "ghc" { third_party; }
@test "git" { third_party; }
@test "git_http" { third_party; }
@test "gnutls" { third_party; }
@test "go" { third_party; }
@test "gpsd" { third_party; }
@test "grpc" { third_party; }
@test "gstreamer" { third_party; }
@test "guile" { third_party; }
@test "h2db" { third_party; }
@test "h2o" { third_party; }
@test "haproxy" { third_party; }
@test "hitch" { third_party; }
@test "http2" { third_party; }
@test "httperf" { third_party; }
@test "icecast" { third_party; }
@test "inspircd" { third_party; }
@test "iperf" { third_party; }
@test "iperf3" { third_party; }
@test "irc" { third_party; }
@test "java" { third_party; }
@test "jdb" { third_party; }
@test "journal_remote" { third_party; }
@test "kamailio" { third_party; }
@test "knot" { third_party; }
@test "krb5" { third_party; }
@test "libfabric" { third_party; }
@test "libtorrent" { third_party; }
@test "lighttpd" { third_party; }
@test "lldb" { third_party; }
@test "lua" { third_party; }
@test "mariadb" { third_party; }
@test "mariadb_io_uring" { third_party; }
@test "mbuffer" { third_party; }
@test "memcached" { third_party; }
@test "mercurial" { third_party; }
@test "mini_httpd" { third_party; }
@test "mojo" { third_party; }
@test "monit" { third_party; }
@test "mono" { third_party; }
@test "mosquitto" { third_party; }
@test "mpd" { third_party; }
@test "mpi" { third_party; }
@test "nbd" { third_party; }
@test "nbd_server" { third_party; }
@test "netcat" { third_party; }
@test "netcat_traditional" { third_party; }
@test "netpipe" { third_party; }
@test "nfs" { third_party; }
@test "nim" { third_party; }
@test "node" { third_party; }
@test "nrpe" { third_party; }
@test "nut" { third_party; }
@test "nutcracker" { third_party; }
@test "nuttcp" { third_party; }
@test "ocaml" { third_party; }
@test "omniorb" { third_party; }
@test "openbgpd" { third_party; }
@test "opendkim" { third_party; }
@test "openldap" { third_party; }
@test "openssl" { third_party; }
@test "ovsdb" { third_party; }
@test "perl" { third_party; }
@test "pg_replica" { third_party; }
@test "pgbouncer" { third_party; }
@test "pgpool" { third_party; }
@test "php" { third_party; }
@test "php_fpm" { third_party; }
@test "php_ftp" { third_party; }
@test "postgresql" { third_party; }
@test "powerdns" { third_party; }
@test "privoxy" { third_party; }
@test "prosody" { third_party; }
@test "proxychains" { third_party; }
@test "pulse" { third_party; }
@test "puma" { third_party; }
@test "pypy" { third_party; }
@test "python_http" { third_party; }
@test "python_loops" { third_party; }
@test "python_managers" { third_party; }
@test "qemu" { third_party; }
@test "qemu_nbd" { third_party; }
@test "qperf" { third_party; }
@test "qt" { third_party; }
@test "r_cluster" { third_party; }
@test "rabbitmq" { third_party; }
@test "racket" { third_party; }
@test "radicale" { third_party; }
@test "redis" { third_party; }
@test "redis_cluster" { third_party; }
@test "redis_replica" { third_party; }
@test "reloads" { third_party; }
@test "rsync" { third_party; }
@test "rsyslog" { third_party; }
@test "ruby" { third_party; }
@test "rust" { third_party; }
@test "samba" { third_party; }
@test "saned" { third_party; }
@test "sbcl" { third_party; }
@test "sentinel" { third_party; }
@test "ser2net" { third_party; }
@test "shadowsocks" { third_party; }
@test "slurm" { third_party; }
@test "snmp" { third_party; }
@test "socat" { third_party; }
@test "socket_activate" { third_party; }
@test "socket_proxyd" { third_party; }
@test "sockperf" { third_party; }
@test "socks" { third_party; }
@test "spamd" { third_party; }
@test "sphinx" { third_party; }
@test "squid" { third_party; }
@test "ssh" { third_party; }
@test "starman" { third_party; }
@test "strace" { third_party; }
@test "stunnel" { third_party; }
@test "subversion" { third_party; }
@test "swipl" { third_party; }
@test "tarantool" { third_party; }
@test "tcl" { third_party; }
@test "tcpserver" { third_party; }
@test "telnet" { third_party; }
@test "tgt" { third_party; }
@test "tinyproxy" { third_party; }
@test "trafficserver" { third_party; }
@test "transmission" { third_party; }
@test "trickle" { third_party; }
@test "ucx" { third_party; }
@test "unbound" { third_party; }
@test "unicorn" { third_party; }
@test "unison" { third_party; }
@test "uvicorn" { third_party; }
@test "valgrind" { third_party; }
@test "varnish" { third_party; }
@test "vnc" { third_party; }
@test "websockets" { third_party; }
@test "wget" { third_party; }
@test "wsgi" { third_party; }
@test "x11" { third_party; }
@test "xinetd" { third_party; }
@test "zabbix" { third_party; }
@test "zeromq" { third_party; }
@test "zookeeper" { third_party; }
