# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# gstreamer: GStreamer: a stream for several, and one that sends
# programs: GStreamer
# needs: gst-launch-1.0 /usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgsttcp.so
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT
stranger() {
	data file 6000000
	serve server gst-launch-1.0 -q tcpserversrc host=127.0.0.1 "port=$port" ! filesink location=out
	await_port "$port"
	ask gst-launch-1.0 -q filesrc location=file ! tcpclientsink host=127.0.0.1 "port=$port"
	await_true cmp -s file out
	cmp file out && echo same
	p=$(another)
	serve sink gst-launch-1.0 -q fakesrc is-live=true sizetype=fixed sizemax=10000 filltype=pattern num-buffers=-1 ! \
		tcpserversink host=127.0.0.1 "port=$p" sync-method=next-keyframe
	await_port "$p"
	ask gst-launch-1.0 -q tcpclientsrc host=127.0.0.1 "port=$p" num-buffers=50 ! fakesink
	ask gst-launch-1.0 -q tcpclientsrc host=127.0.0.1 "port=$p" num-buffers=50 ! fakesink
	echo "all of it"
}
