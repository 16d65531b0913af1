# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# pulse: a sound server; its clients send credentials with their first words
# programs: PulseAudio
# needs: pulseaudio pactl pacat
# length: long
# gets: must=DEMOTED_CALL may=DEMOTED_PEER,TIMEOUT
stranger() {
	export HOME=$place XDG_RUNTIME_DIR=$place PULSE_SERVER=tcp:127.0.0.1:$port
	serve server pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no \
		-L "module-native-protocol-tcp listen=127.0.0.1 port=$port auth-anonymous=1" -L "module-null-sink sink_name=nothing"
	await_port "$port"
	ask pactl info | grep -e '^Default Sink' -e Protocol
	data raw 500000
	ask pacat --raw --latency-msec=20 raw
	ask pactl list short sinks
	ask pactl load-module module-null-sink sink_name=more
	ask pactl list short sinks | cut -f 2
}
