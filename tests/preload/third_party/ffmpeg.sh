# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ffmpeg: a film of its own, sent as it is made
# programs: FFmpeg
# needs: ffmpeg
# length: long
# gets: smc=1 may=TIMEOUT
stranger() {
	serve server ffmpeg -v error -f lavfi -i testsrc=duration=3:size=320x240:rate=25 -bitexact -c:v mpeg2video -threads 1 -f mpegts "tcp://127.0.0.1:$port?listen=1"
	await_port "$port"
	ask ffmpeg -v error -threads 1 -i "tcp://127.0.0.1:$port" -f md5 -
}
