# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# libtorrent: libtorrent-rasterbar: a seed and two that load from it and from each other
# programs: libtorrent-rasterbar
# needs: /usr/lib/python3/dist-packages/libtorrent.*.so
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT
stranger() {
	cat >t.py <<-'EOT'
		import libtorrent as lt, sys, time, os
		role, port, peer = sys.argv[1], int(sys.argv[2]), [int(x) for x in sys.argv[3:]]
		s = lt.session({"listen_interfaces": "127.0.0.1:%d" % port, "enable_dht": False, "enable_lsd": False, "enable_upnp": False, "enable_natpmp": False,
		  "enable_outgoing_utp": False, "enable_incoming_utp": False, "allow_multiple_connections_per_ip": True, "alert_mask": 0})
		fs = lt.file_storage(); fs.add_file("file", 12000000)
		if role == "make":
		    t = lt.create_torrent(fs, 65536); lt.set_piece_hashes(t, "seed"); open("t.torrent", "wb").write(lt.bencode(t.generate())); sys.exit()
		ti = lt.torrent_info("t.torrent")
		h = s.add_torrent({"ti": ti, "save_path": role})
		if role != "seed":
		    for p in peer: h.connect_peer(("127.0.0.1", p))
		t0 = time.time()
		while time.time() - t0 < 60:
		    st = h.status()
		    if role != "seed" and st.is_seeding: break
		    time.sleep(.1)
		    if role != "seed" and h.status().num_peers == 0:
		        for p in peer: h.connect_peer(("127.0.0.1", p))
		if role != "seed": print(role, st.is_seeding); s.pause(); time.sleep(1)
	EOT
	local port2
	port2=$(another)
	mkdir seed a b
	data seed/file 12000000
	/usr/bin/python3 t.py make 0
	serve seed /usr/bin/python3 t.py seed "$port"
	await_port "$port"
	ask_limit=80 ask /usr/bin/python3 t.py a "$port2" "$port"
	ask_limit=80 ask /usr/bin/python3 t.py b "$port2" "$port"
	cmp seed/file a/file && cmp seed/file b/file && echo same
}
