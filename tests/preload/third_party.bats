#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# strangers: programs of Debian that nobody here wrote, plainly and under
# smc_run: the same output, and the state that their file promises. The table
# in smc_r(7) is made of those promises. "make check-long" runs all of them.
# limit: 1800

load smc

setup_file() {
	smc_device
	# One after the other: what came before must not be counted.
	export BATS_NO_PARALLELIZE_WITHIN_FILE=true
}

# The one that the test is named after.
stranger() {
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

@test "each stranger has a test of its name" {
	diff <("$BATS_TEST_DIRNAME/third_party.sh" list) \
		<(sed -n 's/^@test "\([a-z0-9_]*\)" .*/\1/p' \
			"$BATS_TEST_FILENAME")
}

@test "the table in smc_r(7) says what the tests check" {
	diff <("$BATS_TEST_DIRNAME/third_party.sh" rows) \
		<(sed -n '/^\.Sh PROGRAMS/,/^\.Sh/{/^\.It.* Ta /p}' \
			"$BATS_TEST_DIRNAME/../../man/smc_r.7" | tail -n +2)
}

@test "ada" { stranger; }
@test "anyevent" { stranger; }
@test "apache" { stranger; }
@test "apache_prefork" { stranger; }
@test "aria2" { stranger; }
@test "asio" { stranger; }
@test "axel" { stranger; }
@test "beanstalkd" { stranger; }
@test "bind" { stranger; }
@test "bird" { stranger; }
@test "bun" { stranger; }
@test "busybox" { stranger; }
@test "ccache" { stranger; }
@test "celery" { stranger; }
@test "chromium" { stranger; }
@test "civetweb" { stranger; }
@test "clamav" { stranger; }
@test "coturn" { stranger; }
@test "crystal" { stranger; }
@test "cups" { stranger; }
@test "curl" { stranger; }
@test "cvs" { stranger; }
@test "dante" { stranger; }
@test "dask" { stranger; }
@test "dbus" { stranger; }
@test "distcc" { stranger; }
@test "dns" { stranger; }
@test "dns_tcp" { stranger; }
@test "dnsperf" { stranger; }
@test "dovecot" { stranger; }
@test "dropbear" { stranger; }
@test "emacs" { stranger; }
@test "erlang" { stranger; }
@test "etcd" { stranger; }
@test "exim" { stranger; }
@test "fakeroot" { stranger; }
@test "faketime" { stranger; }
@test "fcgi" { stranger; }
@test "ffmpeg" { stranger; }
@test "firebird" { stranger; }
@test "firefox" { stranger; }
@test "forwarders" { stranger; }
@test "fossil" { stranger; }
@test "freepascal" { stranger; }
@test "ftp" { stranger; }
@test "gdb" { stranger; }
@test "gearman" { stranger; }
@test "ghc" { stranger; }
@test "git" { stranger; }
@test "git_http" { stranger; }
@test "gnutls" { stranger; }
@test "go" { stranger; }
@test "gpsd" { stranger; }
@test "grpc" { stranger; }
@test "gstreamer" { stranger; }
@test "guile" { stranger; }
@test "h2db" { stranger; }
@test "h2o" { stranger; }
@test "haproxy" { stranger; }
@test "hitch" { stranger; }
@test "http2" { stranger; }
@test "httperf" { stranger; }
@test "icecast" { stranger; }
@test "inspircd" { stranger; }
@test "iperf" { stranger; }
@test "iperf3" { stranger; }
@test "irc" { stranger; }
@test "java" { stranger; }
@test "jdb" { stranger; }
@test "journal_remote" { stranger; }
@test "kamailio" { stranger; }
@test "knot" { stranger; }
@test "krb5" { stranger; }
@test "libfabric" { stranger; }
@test "libtorrent" { stranger; }
@test "lighttpd" { stranger; }
@test "lldb" { stranger; }
@test "lua" { stranger; }
@test "mariadb" { stranger; }
@test "mariadb_io_uring" { stranger; }
@test "mbuffer" { stranger; }
@test "memcached" { stranger; }
@test "mercurial" { stranger; }
@test "mini_httpd" { stranger; }
@test "mojo" { stranger; }
@test "monit" { stranger; }
@test "mono" { stranger; }
@test "mosquitto" { stranger; }
@test "mpd" { stranger; }
@test "mpi" { stranger; }
@test "nbd" { stranger; }
@test "nbd_server" { stranger; }
@test "netcat" { stranger; }
@test "netcat_traditional" { stranger; }
@test "netpipe" { stranger; }
@test "nfs" { stranger; }
@test "nim" { stranger; }
@test "node" { stranger; }
@test "nrpe" { stranger; }
@test "nut" { stranger; }
@test "nutcracker" { stranger; }
@test "nuttcp" { stranger; }
@test "ocaml" { stranger; }
@test "omniorb" { stranger; }
@test "openbgpd" { stranger; }
@test "opendkim" { stranger; }
@test "openldap" { stranger; }
@test "openssl" { stranger; }
@test "ovsdb" { stranger; }
@test "perl" { stranger; }
@test "pg_replica" { stranger; }
@test "pgbouncer" { stranger; }
@test "pgpool" { stranger; }
@test "php" { stranger; }
@test "php_fpm" { stranger; }
@test "php_ftp" { stranger; }
@test "postgresql" { stranger; }
@test "powerdns" { stranger; }
@test "privoxy" { stranger; }
@test "prosody" { stranger; }
@test "proxychains" { stranger; }
@test "pulse" { stranger; }
@test "puma" { stranger; }
@test "pypy" { stranger; }
@test "python_http" { stranger; }
@test "python_loops" { stranger; }
@test "python_managers" { stranger; }
@test "qemu" { stranger; }
@test "qemu_nbd" { stranger; }
@test "qperf" { stranger; }
@test "qt" { stranger; }
@test "r_cluster" { stranger; }
@test "rabbitmq" { stranger; }
@test "racket" { stranger; }
@test "radicale" { stranger; }
@test "redis" { stranger; }
@test "redis_cluster" { stranger; }
@test "redis_replica" { stranger; }
@test "reloads" { stranger; }
@test "rsync" { stranger; }
@test "rsyslog" { stranger; }
@test "ruby" { stranger; }
@test "rust" { stranger; }
@test "samba" { stranger; }
@test "saned" { stranger; }
@test "sbcl" { stranger; }
@test "sentinel" { stranger; }
@test "ser2net" { stranger; }
@test "shadowsocks" { stranger; }
@test "slurm" { stranger; }
@test "snmp" { stranger; }
@test "socat" { stranger; }
@test "socket_activate" { stranger; }
@test "socket_proxyd" { stranger; }
@test "sockperf" { stranger; }
@test "socks" { stranger; }
@test "spamd" { stranger; }
@test "sphinx" { stranger; }
@test "squid" { stranger; }
@test "ssh" { stranger; }
@test "starman" { stranger; }
@test "strace" { stranger; }
@test "stunnel" { stranger; }
@test "subversion" { stranger; }
@test "swipl" { stranger; }
@test "tarantool" { stranger; }
@test "tcl" { stranger; }
@test "tcpserver" { stranger; }
@test "telnet" { stranger; }
@test "tgt" { stranger; }
@test "tinyproxy" { stranger; }
@test "trafficserver" { stranger; }
@test "transmission" { stranger; }
@test "trickle" { stranger; }
@test "ucx" { stranger; }
@test "unbound" { stranger; }
@test "unicorn" { stranger; }
@test "unison" { stranger; }
@test "uvicorn" { stranger; }
@test "valgrind" { stranger; }
@test "varnish" { stranger; }
@test "vnc" { stranger; }
@test "websockets" { stranger; }
@test "wget" { stranger; }
@test "wsgi" { stranger; }
@test "x11" { stranger; }
@test "xinetd" { stranger; }
@test "zabbix" { stranger; }
@test "zeromq" { stranger; }
@test "zookeeper" { stranger; }
