# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# beanstalkd: a queue: jobs put by four clients, taken by two that wait
# programs: beanstalkd
# needs: beanstalkd python3
# length: long
# gets: smc=6
stranger() {
	serve server beanstalkd -l 127.0.0.1 -p "$port"
	await_port "$port"
	ask python3 "$here/third_party/beanstalkd.py" "$port"
}
