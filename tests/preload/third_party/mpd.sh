# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mpd: a player without sound; its loop is io_uring's
# programs: MPD
# needs: mpd mpc python3
# length: long
# gets: smc=none must=PEER_NO_SMC
hears_somebody() {
	[ -n "$(ss -Htn state established "sport = :$port")" ]
}

stranger() {
	mkdir music playlists
	cat >conf <<-EOT
		music_directory "$place/music"
		playlist_directory "$place/playlists"
		db_file "$place/db"
		bind_to_address "127.0.0.1"
		port "$port"
		audio_output {
			type "null"
			name "none"
		}
	EOT
	python3 -c 'import wave
with wave.open("music/a.wav", "wb") as w:
    w.setparams((1, 2, 8000, 0, "NONE", ""))
    w.writeframes(bytes(32000))'
	serve server mpd --no-daemon --stderr "$place/conf"
	await_port "$port"
	ask mpc -q -h 127.0.0.1 -p "$port" update --wait
	ask mpc -h 127.0.0.1 -p "$port" listall
	ask mpc -q -h 127.0.0.1 -p "$port" add a.wav
	serve idle mpc -h 127.0.0.1 -p "$port" idle player
	await_true hears_somebody
	ask mpc -q -h 127.0.0.1 -p "$port" play
	await_true grep -q player idle.log
	cat idle.log
	ask mpc -h 127.0.0.1 -p "$port" playlist
}
