#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# third_party: servers and clients of Debian, run plainly and under smc_run. What
# they say must be the same, and what became of their connections must be what
# their file says.
#
# usage: tests/preload/third_party.sh run NAME...	each twice, and compare
#	 tests/preload/third_party.sh plain|smc NAME	once; prints what it says
#	 tests/preload/third_party.sh list [short|long]	what there is
#	 tests/preload/third_party.sh rows		the table of smc_r(7)
#
# Needs an SMC-R device that is enabled for the loopback addresses and all
# ports, and smc_run in PATH. Exit: 0 as expected, 1 not, 77 not installed.
#
# A program is a file third_party/NAME.sh. Its first lines say
#
#	# NAME: what it does, for the reader
#	# programs: what the manual page calls it
#	# needs: commands, users (:name) and files (/path) that must be there
#	# length: long		(optional: only in "make check-long")
#	# with: how it is run	(optional: for the manual page)
#	# gets: smc=N must=REASON,... may=REASON,...
#
# smc=N: at least N connections with both ends on SMC; smc=none: not one. A
# connection that was not, or did not stay, on SMC has one of the reasons of
# "may" or "must", and each of "must" occurred; where programs give connections
# away (DEMOTED_AIO, _STDIO, _EXEC, _PASSING, _NESTED) PEERDECL goes without
# saying, and how many were on SMC first is a matter of pace. The function
# "stranger" runs the programs: "serve" starts a server, "ask" runs a client, and
# what they print is compared.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
# shellcheck source=/dev/null
. "$here/smc.bash"
: "${last-}" "${port-}"

# ---- what the programs call ----

# A server, in the background; its output goes to NAME.log.
serve() { # name, command...
	local name=$1
	shift
	start "$name" "${wrap[@]}" "$@"
}

# A client. What it prints and how it ended is compared.
ask() { # command...
	local status=0
	timeout -k 2 "${ask_limit:-30}" "${wrap[@]}" "$@" || status=$?
	[ "$status" = 0 ] || echo "exit $status: $1" >&3
	return "$status"
}

# nginx with what comes on standard input in its http block.
serve_nginx() { # name [number of processes]
	mkdir -p tmp && chmod 777 tmp
	cat >nginx.conf <<-EOT
		daemon off; user root; pid $place/pid; error_log $place/error.log;
		worker_processes ${2-1};
		events { worker_connections 256; }
		http {
			client_body_temp_path $place/tmp; proxy_temp_path $place/tmp;
			fastcgi_temp_path $place/tmp; uwsgi_temp_path $place/tmp;
			scgi_temp_path $place/tmp; access_log off;
			$(cat)
		}
	EOT
	serve "$1" nginx -p "$place" -c "$place/nginx.conf" -e "$place/error.log"
}

# NSD with a zone "example" that has N texts, and may be transferred.
serve_nsd() { # N
	local i
	{
		echo "example. 60 SOA ns.example. a.example. 1 60 60 60 60"
		echo "example. 60 NS ns.example."
		for i in $(seq "$1"); do echo "a$i.example. 60 TXT text$i"; done
	} >example.zone
	cat >nsd.conf <<-EOT
		server:
			ip-address: 127.0.0.1@$port
			username: ""
			zonesdir: "$place"
			pidfile: ""
			xfrdfile: ""
			zonelistfile: "$place/list"
		remote-control:
			control-enable: no
		zone:
			name: example
			zonefile: example.zone
			provide-xfr: 127.0.0.1 NOKEY
	EOT
	serve nsd nsd -d -c nsd.conf
	await_port "$port"
}

# PostgreSQL with a new database in the directory "pg", at $port and at a socket
# in the present directory; its programs are in $pg_bin, its user is
# "${as_postgres[@]}". Our words come after that: the environment is the same.
serve_postgres() {
	local bins=(/usr/lib/postgresql/*/bin)
	pg_bin=${bins[-1]}
	as_postgres=(setpriv --reuid postgres --regid postgres --init-groups)
	mkdir pg && chown postgres: pg && chmod 777 .
	"${as_postgres[@]}" "$pg_bin/initdb" -D pg -A trust -N >init.log
	start server "${as_postgres[@]}" "${wrap[@]}" "$pg_bin/postgres" \
		-D "$place/pg" -p "$port" -c listen_addresses=127.0.0.1 \
		-c fsync=off -c "unix_socket_directories=$place"
	await_port "$port"
	await_true "$pg_bin/pg_isready" -q -h "$place" -p "$port"
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
}

# Makes the same bytes each time, no two lines alike.
data() { # file, bytes
	seq 1000000000 | head -c "$2" >"$1"
}

digest() {
	sha256sum | cut -c 1-64
}

# A key and a certificate for localhost, in cert.pem and key.pem.
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
		-keyout "$place/key.pem" -out "$place/cert.pem" 2>/dev/null
	chmod 644 "$place/key.pem"
	cat "$place/key.pem" "$place/cert.pem" >"$place/both.pem"
}

# A second port, and a third: port2=$(another).
another() {
	local first=$port
	while [ "$port" = "$first" ]; do free_port; done
	echo "$port"
}

# ---- one run ----

field() { # name of the field, file
	sed -n "s/^# $1: *//p" "$2" | head -n 1
}

is_there() { # file
	local word
	for word in $(field needs "$1"); do
		case $word in
		:*) getent passwd "${word#:}" >/dev/null ;;
		*) compgen -G "$word" >/dev/null || command -v "$word" >/dev/null ;;
		esac || {
			echo "$word is not installed"
			return 77
		}
	done
}

finish() {
	local pid
	for pid in ${started[@]+"${started[@]}"}; do
		stop "$pid"
	done
}

# Writes what was said to a file, without what differs each time.
once() { # plain|smc, name, file
	local status=0
	wrap=()
	[ "$1" = plain ] || wrap=(smc_run)
	place=$base/$2.$1
	mkdir -p "$place"
	chmod 755 "$place"
	(
		started=()
		trap finish EXIT
		# shellcheck source=/dev/null
		. "$here/third_party/$2.sh"
		cd "$place" && free_port
		stranger 3>&1
	) >"$3.raw" 2>&1 || status=$?
	sed -e "s|$place|PLACE|g" -e "s|\b2[0-9]\{4\}\b|PORT|g" \
		-e "s|\b3[01][0-9]\{3\}\b|PORT|g" "$3.raw" >"$3"
	[ "$status" = 0 ] || echo "the test itself: exit $status" >>"$3"
}

reasons() {
	entstat -j smc_r0 | jq -r '.reasons[] | "\(.name) \(.count)"' | sort
}

# What happened since the counters were $1 and the reasons $2.
judge() { # name, before, reasons before
	local smc tcp demoted errors before after gets word bad=0
	local least=0 must='' may='' seen
	local none=''
	read -ra before <<<"$2"
	read -ra after <<<"$(smc_counters)"
	smc=$((after[0] - before[0]))
	tcp=$((after[1] - before[1]))
	demoted=$((after[2] - before[2]))
	errors=$((after[3] - before[3]))
	seen=$(diff <(echo "$3") <(reasons) |
		sed -n 's/^> \([A-Z_0-9]*\) .*/\1/p' | tr '\n' ' ')
	gets=$(field gets "$here/third_party/$1.sh")
	for word in $gets; do
		case $word in
		smc=none) none=1 ;;
		smc=*) least=${word#*=} ;;
		must=*) must=${word#*=} ;;
		may=*) may=${word#*=} ;;
		esac
	done
	# Without BPF a listener with TCP_DEFER_ACCEPT offers nothing.
	[ "$(id -u)" = 0 ] || may+=,PEER_NO_SMC
	# A program that gives a connection away before its handshake is over
	# declines.
	[[ ! "$must,$may" =~ DEMOTED_(AIO|STDIO|EXEC|PASSING|NESTED) ]] || may+=,PEERDECL
	[ "$smc" -ge $((2 * least)) ] || bad=1
	[ -z "$none" ] || [ "$smc" = 0 ] || bad=1
	for word in $seen; do
		[[ ",$must,$may," == *",$word,"* ]] || bad=1
	done
	for word in ${must//,/ }; do
		[[ " $seen " == *" $word "* ]] || bad=1
	done
	[ "$bad" = 0 ] || echo "$1: not what it should get:"
	echo "$1: smc $smc tcp $tcp demoted $demoted errors $errors" \
		"$seen(wanted: $gets; ${plain_time}s plain, ${smc_time}s)"
	return "$bad"
}

elapsed() { # since
	echo "$EPOCHREALTIME $1" | awk '{ printf "%.1f", $1 - $2 }'
}

both() { # name
	local before why bad=0
	why=$(is_there "$here/third_party/$1.sh") || {
		echo "$1: $why"
		return 77
	}
	local plain_time smc_time
	plain_time=$EPOCHREALTIME
	once plain "$1" "$base/$1.plain.out"
	plain_time=$(elapsed "$plain_time")
	before=$(smc_counters)
	why=$(reasons)
	smc_time=$EPOCHREALTIME
	once smc "$1" "$base/$1.smc.out"
	smc_time=$(elapsed "$smc_time")
	judge "$1" "$before" "$why" || bad=1
	[ -s "$base/$1.plain.out" ] || {
		echo "$1: said nothing"
		bad=1
	}
	! grep -n '^the test itself' "$base/$1.plain.out" || bad=1
	diff "$base/$1.plain.out" "$base/$1.smc.out" || bad=1
	if [ "$bad" != 0 ] && [ -n "${STRANGERS_VERBOSE-}" ]; then
		tail -n 4 "$base/$1".*/*.log "$base/$1.plain.out"
	fi
	return "$bad"
}

names() { # short|long|
	local file length
	for file in "$here"/third_party/*.sh; do
		length=$(field length "$file")
		[ "${1:-${length:-short}}" = "${length:-short}" ] || continue
		basename "$file" .sh
	done
}

# What a line "gets" says, in words and reasons.
in_words() { # words of the line
	local word smc=SMC-R must='' may=''
	for word in "$@"; do
		case $word in
		smc=none) smc=TCP ;;
		must=*) must=${word#*=} ;;
		may=*) may=${word#*=} ;;
		esac
	done
	if [[ " $* " != *" smc="* ]]; then
		smc=both must=${must:-$may}
	fi
	[ "$smc" = TCP ] || [ -z "$must" ] || smc=both
	echo "$smc Ta ${must%%,*}"
}

# Rows of a mdoc table, sorted by what the reader looks for.
rows() {
	local name file with
	for name in $(names); do
		file=$here/third_party/$name.sh
		with=$(field with "$file")
		# shellcheck disable=SC2046
		printf '.It %s Ta %s Ta %s\n' \
			"$(field programs "$file")${with:+, $with}" \
			"$(in_words $(field gets "$file"))" "$name"
	done | sort -f
}

main() {
	local name status worst=0
	case ${1-} in
	run)
		shift
		for name in "$@"; do
			status=0
			both "$name" || status=$?
			[ "$status" -le "$worst" ] || worst=$status
		done
		exit "$worst"
		;;
	plain | smc)
		once "$1" "$2" "$base/out"
		cat "$base/out.raw"
		tail -n 20 "$base/$2.$1"/*.log
		;;
	list) names "${2-}" ;;
	rows) rows ;;
	*)
		sed -n 's/^# usage: /usage: /p' "$0" >&2
		exit 2
		;;
	esac
}

command -v smc_run entstat >/dev/null || {
	echo "smc_run and entstat must be in PATH" >&2
	exit 2
}
unset LD_PRELOAD SMC_R http_proxy https_proxy all_proxy no_proxy
export LC_ALL=C.UTF-8
base=$(mktemp -d /tmp/smc_r.third_party.XXXXXX) || exit 2
chmod 755 "$base"
[ -n "${STRANGERS_KEEP-}" ] && echo "$base" >&2 ||
	trap 'rm -rf "$base"' EXIT
main "$@"
