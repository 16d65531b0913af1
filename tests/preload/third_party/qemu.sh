# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2046 # set by third_party.sh; two words
# qemu: a virtual machine that moves to another process; QMP, serial line
# programs: QEMU
# needs: qemu-system-x86_64 /usr/bin/python3
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	local q1 q2 m
	q1=$port
	q2=$(another)
	m=$q1
	while [ "$m" = "$q1" ] || [ "$m" = "$q2" ]; do m=$(another); done
	for q in "$q1" "$q2"; do
		serve "vm$q" qemu-system-x86_64 -nodefaults -display none -accel tcg -m 96 \
			-qmp "tcp:127.0.0.1:$q,server=on,wait=off" \
			$([ "$q" = "$q1" ] || echo -incoming defer)
		await_port "$q"
	done
	cat >c.py <<-'EOT'
		import json, socket, sys, time
		class Vm:
		    def __init__(self, port):
		        self.f = socket.create_connection(("127.0.0.1", port)).makefile("rw")
		        self.f.readline(); self("qmp_capabilities")
		    def __call__(self, name, **args):
		        self.f.write(json.dumps({"execute": name, "arguments": args}) + "\n"); self.f.flush()
		        while True:
		            r = json.loads(self.f.readline())
		            if "return" in r or "error" in r: return r.get("return", r)
		a, b, m = (int(x) for x in sys.argv[1:4])
		a, b = Vm(a), Vm(b)
		caps = [{"capability": "multifd", "state": False}]
		for v in a, b: print(v("migrate-set-capabilities", capabilities=caps))
		a("migrate-set-parameters", **{"max-bandwidth": 1 << 30})
		uri = "tcp:127.0.0.1:%d" % m
		print(b("migrate-incoming", uri=uri)); print(a("migrate", uri=uri))
		while True:
		    s = a("query-migrate")["status"]
		    if s in ("completed", "failed"): break
		    time.sleep(0.1)
		print(s, a("query-status")["status"])
		while b("query-status")["status"] == "inmigrate": time.sleep(0.1)
		print(b("query-status")["status"])
	EOT
	ask /usr/bin/python3 c.py "$q1" "$q2" "$m"
}
