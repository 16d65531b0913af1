# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# etcd: a server of Go and its client
# programs: etcd
# needs: etcd etcdctl
# length: long
# gets: smc=none
stranger() {
	local peer
	peer=$(another)
	export ETCDCTL_API=3
	serve server etcd --data-dir "$place/db" --logger zap \
		--listen-client-urls "http://127.0.0.1:$port" \
		--advertise-client-urls "http://127.0.0.1:$port" \
		--listen-peer-urls "http://127.0.0.1:$peer" \
		--initial-advertise-peer-urls "http://127.0.0.1:$peer" \
		--initial-cluster "default=http://127.0.0.1:$peer"
	await_port "$port"
	ask etcdctl --endpoints "127.0.0.1:$port" put a b
	ask etcdctl --endpoints "127.0.0.1:$port" get a
	ask etcdctl --endpoints "127.0.0.1:$port" get '' --prefix
}
