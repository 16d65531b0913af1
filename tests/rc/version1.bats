#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# version1: programs of two hosts whose RDMA cores have RoCE version 1, so that
# it is SMC-R version 1, over IPv4 and IPv6.
# limit: 120
# lane: any

load hosts
# shellcheck disable=SC2154 # set by hosts.bash
: "${last-}"
export OFED_CORE_ROCE_V2_MODE=0

gets_a_file() { # address
	head -c 300000 /dev/urandom >"$PLACE/file"
	begin_on a http smc_run python3 -m http.server 8000 --bind "$1" \
		--directory "$PLACE"
	wait_for listens a 8000
	case $1 in
	*:*) smc_on b curl -s -o "$PLACE/got" "http://[$1]:8000/file" ;;
	*) smc_on b curl -s -o "$PLACE/got" "http://$1:8000/file" ;;
	esac
	cmp "$PLACE/file" "$PLACE/got"
	all_on_smc 1
}

@test "over IPv4" {
	gets_a_file "$SERVER"
}

@test "over IPv6" {
	local host address=1
	for host in a b; do
		ip -n "$HOSTS$host" addr add "fd83::$address/64" dev ent0 nodad
		on "$host" chdev -q -l smc_r0 \
			-a "ip_addr_list=10.83.0.$address,fd83::$address"
		wait_for has_gid "$host" "fd83:.*:000$address"
		address=$((address + 1))
	done
	gets_a_file fd83::1
	# All addresses of a host have one GID, and one link group.
	[ "$(on b entstat -d smc_r0 | grep -Ec "^[0-9a-f]{16} .* v1 ")" = 1 ]
}
