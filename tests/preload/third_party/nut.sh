# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nut: Network UPS Tools: upsd with a UPS that is a file
# programs: NUT
# needs: /lib/nut/upsd upsc /lib/nut/dummy-ups
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT
stranger() {
	mkdir conf state
	printf '[one]\ndriver = dummy-ups\nport = %s/one.dev\n' "$place" >conf/ups.conf
	printf 'ups.status: OL\nbattery.charge: 80\nups.model: x\n' >one.dev
	printf 'LISTEN 127.0.0.1 %s\n' "$port" >conf/upsd.conf
	: >conf/upsd.users
	chmod 600 conf/*
	export NUT_CONFPATH=$place/conf NUT_STATEPATH=$place/state NUT_ALTPIDPATH=$place/state
	serve driver /lib/nut/dummy-ups -D -u root -a one
	await_true sh -c "ls '$place/state' | grep -q dummy-ups-one"
	serve server /lib/nut/upsd -D -u root
	await_port "$port"
	await_true sh -c '"$@" 2>/dev/null | grep -q x' sh "${wrap[@]}" upsc "one@127.0.0.1:$port" ups.model
	for _ in 1 2 3; do ask upsc "one@127.0.0.1:$port" battery.charge; done
	ask upsc "two@127.0.0.1:$port"
	ask upsc -l "127.0.0.1:$port"
}
