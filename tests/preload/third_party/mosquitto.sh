# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mosquitto: MQTT: publish, subscribe, retained, websockets off
# programs: mosquitto
# needs: mosquitto mosquitto_pub mosquitto_sub
# length: long
# gets: smc=3
stranger() {
	printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$port" >conf
	serve server mosquitto -v -c conf
	await_port "$port"
	serve sub mosquitto_sub -h 127.0.0.1 -p "$port" -t 'a/#' -C 200 -v
	await_true grep -qs 'Sending SUBACK' server.log
	ask mosquitto_pub -h 127.0.0.1 -p "$port" -t r/x -r -m kept
	ask mosquitto_sub -h 127.0.0.1 -p "$port" -t 'r/#' -C 1 -W 5
	seq 200 | ask mosquitto_pub -h 127.0.0.1 -p "$port" -q 1 -t a/b -l
	await_true grep -qs 'a/b 200' sub.log
	digest <sub.log
	ask mosquitto_sub -h 127.0.0.1 -p "$port" -t nothing -C 1 -W 1 || true
}
