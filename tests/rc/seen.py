#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""seen: compares what tshark reads in a capture of two connections, one after
the other, of one link group (talk -n 2 -x half): the messages of CLC, LLC and
CDC and the packets of the queue pairs must tell the same story.

usage: seen.py CAPTURE VERSION RMBE BYTES MAC-OF-SERVER MAC-OF-CLIENT
"""
import collections
import subprocess
import sys

SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
PEER = {SERVER: CLIENT, CLIENT: SERVER}
EYECATCHER = "e2d4c3d9"
EID = "SMC-R-TEST"
CDC = 0xfe
CONFIRM_LINK, DELETE_LINK, CONFIRM_RKEY, DELETE_RKEY = 1, 4, 6, 9
WRITES = {"6", "10"}  # First, Only
ACKNOWLEDGE = "17"

# What tshark calls a field of Accept, and of Confirm.
ENDS = {
    "peer": ("smc.accept.sender.server.peer.id",
             "smc.confirm.sender.client.peer.id"),
    "gid": ("smc.accept.server.preferred.gid", "smc.client.gid"),
    "mac": ("smc.accept.server.preferred.mac", "smc.confirm.client.mac"),
    "qpn": ("smc.accept.server.qp.number", "smc.confirm.client.qp.number"),
    "rkey": ("smc.accept.server.rmb.rkey", "smc.confirm.client.rmb.rkey"),
    "index": ("smc.accept.server.tcp.conn.index",
              "smc.confirm.client.tcp.conn.index"),
    "token": ("smc.accept.server.rmb.element.alert.token",
              "smc.client.rmb.element.alert.token"),
    "size": ("smc.accept.rmb.buffer.size", "smc.confirm.rmb.buffer.size"),
    "mtu": ("smc.accept.qp.mtu.value", "smc.confirm.qp.mtu.value"),
    "address": ("smc.accept.server.rmb.virtual.address",
                "smc.client.rmb.virtual.address"),
    "psn": ("smc.accept.initial.psn", "smc.initial.psn"),
    "eid": ("smc.accept.eid", "smc.confirm.eid"),
    "release": ("smc.accept.smc.version.relnum",
                "smc.confirm.smc.version.relnum"),
    "first": ("smc.proposal.first.contact", "smc.confirm.first.contact"),
}
OTHERS = {
    "frame": "frame.number", "source": "ip.src", "ether": "eth.src",
    "stream": "tcp.stream", "tcp": "tcp.payload", "clc": "smc.clc_msg",
    "length": "smc.length", "llc": "smc.llc_msg",
    "expert": "_ws.expert.message", "severity": "_ws.expert.severity",
    "proposal_peer": "smc.proposal.sender.client.peer.id",
    "proposal_gid": "smc.proposal.client.preferred.gid",
    "proposal_mac": "smc.proposal.client.preferred.mac",
    "proposal_version": "smc.proposal.smc.version",
    "proposal_eid": "smc.proposal.eid",
    "proposal_gid2": "smc.proposal.rocev2.gid.ipv4",
    "to": "infiniband.bth.destqp", "number": "infiniband.bth.psn",
    "opcode": "infiniband.bth.opcode", "write_key": "infiniband.reth.r_key",
    "write_at": "infiniband.reth.va", "write_bytes": "infiniband.reth.dmalen",
    "cdc_number": "smc.rmbe.ctrl.seqno",
    "cdc_token": "smc.rmbe.ctrl.alert.token",
    "cursors": "smc.rmbe.ctrl.peer.prod.curs",
    "wraps": "smc.rmbe.ctrl.prod.wrap.seq",
    "sending_done": "smc.rmbe.ctrl.peer.sending.done",
    "closed": "smc.rmbe.ctrl.peer.closed.conn",
    "aborted": "smc.rmbe.ctrl.peer.abnormal.close",
    "link_mac": "smc.confirm.link.sender.mac", "link_gid": "smc.sender.gid",
    "link_qpn": "smc.confirm.link.sender.qp.number",
    "link_answer": "smc.confirm.link.response",
    "key_new": "smc.confirm.rkey.new.rkey",
    "key_address": "smc.confirm.rkey.new.virt",
    "key_answer": "smc.confirm.rkey.response",
    "key_refused": "smc.confirm.rkey.negative.response",
    "deleted": "smc.delete.rkey.deleted",
    "delete_answer": "smc.delete.rkey.response",
}
faults = []


def check(what, got, want):
    if got != want:
        faults.append(f"{what}: {got!r}, not {want!r}")


def read(capture):
    names = dict(OTHERS)
    for name, (accept, confirm) in ENDS.items():
        names["a_" + name], names["c_" + name] = accept, confirm
    command = ["tshark", "-n", "-r", capture, "-T", "fields",
               "-E", "separator=|"]
    for name in names.values():
        command += ["-e", name]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL, check=True).stdout
    return [dict(zip(names, line.split("|"))) for line in out.splitlines()]


class Seen:
    def __init__(self, capture, version, rmbe, count, macs):
        self.version, self.rmbe, self.count = int(version), int(rmbe), int(count)
        self.mac = dict(zip((SERVER, CLIENT), macs))
        self.host = {mac: host for host, mac in self.mac.items()}
        self.packets = read(capture)
        self.ends = {SERVER: [], CLIENT: []}

        self.drop_repeats()
        for p in self.packets:
            p["type"] = self.type_of(p["llc"])

    def drop_repeats(self):
        """A busy host sends packets again."""
        known, once = set(), []
        for p in self.packets:
            name = (p["ether"], p["number"])
            if p["number"] and p["opcode"] != ACKNOWLEDGE:
                if name in known:
                    continue
                known.add(name)
            once.append(p)
        self.packets = once

    def type_of(self, text):
        """Messages of LLC say the version of their link group."""
        if not text or int(text, 0) == CDC:
            return int(text or "0", 0)
        check("version of LLC", int(text, 0) >> 4,
              2 if self.version == 2 else 0)
        return int(text, 0) & 0xf

    def of(self, packet):
        return self.host[packet["ether"]]

    # ---- nothing is wrong for the dissector ----

    def no_complaints(self):
        for p in self.packets:
            # See clc_tshark.bats: it has no Proposal of version 1 right.
            if p["clc"] == "1" and self.version == 1:
                continue
            if "Malformed" in p["expert"] or "8388608" in p["severity"]:
                faults.append(f"frame {p['frame']}: {p['expert']}")

    # ---- CLC ----

    def clc(self):
        messages = [p for p in self.packets if p["clc"]]
        check("messages of CLC", [p["clc"] for p in messages],
              ["1", "2", "3"] * 2)
        lengths = ([164, 160, 180, 164, 108, 108] if self.version == 2
                   else [52, 68, 68] * 2)
        check("their lengths", [int(p["length"]) for p in messages], lengths)
        for p in messages:
            check("bytes of the segment", len(p["tcp"]) // 2, int(p["length"]))
            check("eyecatchers", (p["tcp"][:8], p["tcp"][-8:]),
                  (EYECATCHER, EYECATCHER))
            {"1": self.proposal, "2": self.end, "3": self.end}[p["clc"]](p)
        for name in ("peer", "gid", "mac", "qpn", "mtu"):
            for host in PEER:
                values = {e[name] for e in self.ends[host]}
                check(f"values of {name}, {host}", len(values), 1)
        for one, other in zip(self.ends[SERVER], self.ends[CLIENT]):
            check("the peer IDs differ", one["peer"] != other["peer"], True)
            check("one MTU", one["mtu"], other["mtu"])

    def proposal(self, p):
        check("sender of a Proposal", p["source"], CLIENT)
        check("version of the Proposal", p["proposal_version"],
              str(self.version))
        check("MAC of the Proposal", p["proposal_mac"], self.mac[CLIENT])
        self.proposed = p
        if self.version == 2:
            check("EID of the Proposal", p["proposal_eid"].strip(), EID)
            check("GID of the Proposal", p["proposal_gid2"], CLIENT)

    def end(self, p):
        host = SERVER if p["clc"] == "2" else CLIENT
        check("sender", p["source"], host)
        e = {name: p[p_name] for name, p_name in
             ((n, ("a_" if host == SERVER else "c_") + n) for n in ENDS)}
        check("MAC", e["mac"], self.mac[host])
        check("size of the RMBE", 16384 << int(e["size"]), self.rmbe)
        check("MTU", e["mtu"], "3")
        check("index is from 1", int(e["index"]) > 0, True)
        if self.version == 2:
            check("EID", e["eid"].strip(), EID)
            check("GID", e["gid"], f"::ffff:{host}")
        if host == CLIENT:
            check("peer ID as proposed", e["peer"],
                  self.proposed["proposal_peer"])
            if self.version == 1:
                check("GID as proposed", e["gid"],
                      self.proposed["proposal_gid"])
        self.ends[host].append(e)

    # ---- the queue pairs ----

    def queue_pairs(self):
        first = {}
        for p in self.packets:
            if not p["opcode"]:
                continue
            host = self.of(p)
            check("destination QP", p["to"],
                  self.ends[PEER[host]][0]["qpn"])
            if p["opcode"] != ACKNOWLEDGE:
                first.setdefault(host, p["number"])
        for host in PEER:
            check(f"first PSN of {host}", int(first[host]),
                  int(self.ends[host][0]["psn"], 0))

    def writes(self):
        written = collections.Counter()
        for p in self.packets:
            if p["opcode"] not in WRITES:
                continue
            host = self.of(p)
            keys = [e["rkey"] for e in self.ends[PEER[host]]]
            if int(p["write_key"], 0) not in [int(k, 0) for k in keys]:
                faults.append(f"frame {p['frame']}: an unknown key")
                continue
            # A key may come again, when the first connection is over.
            at, n = int(p["write_at"], 0), int(p["write_bytes"])
            ends = [e for e in self.ends[PEER[host]] if int(e["address"], 0)
                    <= at and at + n <= int(e["address"], 0) + self.rmbe]
            check(f"frame {p['frame']}: within an RMBE", len(ends) > 0, True)
            written[host] += n
        for host in PEER:
            check(f"bytes that {host} wrote", written[host], 2 * self.count)

    # ---- LLC ----

    def llc(self):
        links = [p for p in self.packets if p["type"] == CONFIRM_LINK]
        check("Confirm Link", [(self.of(p), p["link_answer"]) for p in links],
              [(SERVER, "0"), (CLIENT, "1")])
        for p in links:
            e = self.ends[self.of(p)][0]
            check("its MAC, GID and QP",
                  (p["link_mac"], p["link_gid"], p["link_qpn"]),
                  (e["mac"], e["gid"], e["qpn"]))
        for host in PEER:
            self.keys(host)
        # An end that has gone hears it no more, and does not answer.
        deletes = {self.of(p) for p in self.packets
                   if p["type"] == DELETE_LINK}
        check("Delete Link", bool(deletes) and deletes <= set(PEER), True)

    def keys(self, host):
        """Keys of this host: told before they are used, then deleted."""
        told = [p for p in self.packets if p["type"] == CONFIRM_RKEY
                and self.of(p) == host and p["key_answer"] == "0"]
        second = self.ends[host][1]
        check(f"keys told by {host}",
              [(p["key_new"].split(",")[0], p["key_address"].split(",")[0])
               for p in told], [(second["rkey"], second["address"])])
        check("no answer refuses one", {p["key_refused"] for p in self.packets
                                        if p["type"] == CONFIRM_RKEY}, {"0"})
        for want in ("0", "1"):
            by = host if want == "0" else PEER[host]
            deleted = [p["deleted"].split(",")[0] for p in self.packets
                       if p["type"] == DELETE_RKEY and self.of(p) == by and
                       p["delete_answer"] == want]
            keys = [e["rkey"] for e in self.ends[host]]
            # An answer of version 2 names those that were unknown.
            check(f"keys of {host} that are deleted ({want})", deleted,
                  ["", ""] if want == "1" and self.version == 2 else keys)

    # ---- CDC ----

    def cdc(self):
        for host in PEER:
            for i, end in enumerate(self.ends[PEER[host]]):
                self.messages(host, i, [
                    p for p in self.packets if p["type"] == CDC and
                    self.of(p) == host and p["cdc_token"] == end["token"]])
        tokens = {e["token"] for host in PEER for e in self.ends[host]}
        check("tokens", {p["cdc_token"] for p in self.packets
                         if p["type"] == CDC} - tokens, set())

    def messages(self, host, i, messages):
        what = f"CDC of {host}, connection {i}:"
        check(f"{what} numbers", [int(p["cdc_number"], 0) for p in messages],
              list(range(1, len(messages) + 1)))
        cursors = [[w * self.rmbe + c for w, c in zip(
            (int(x, 0) for x in p["wraps"].split(",")),
            (int(x, 0) for x in p["cursors"].split(",")))] for p in messages]
        for of in (0, 1):
            values = [c[of] for c in cursors]
            check(f"{what} cursor {of} goes up", values, sorted(values))
            check(f"{what} cursor {of} at the end", values[-1:], [self.count])
        check(f"{what} the end", (messages[-1]["closed"],
                                  {p["aborted"] for p in messages}),
              ("1", {"0"}))


def main():
    capture, version, rmbe, count = sys.argv[1:5]
    seen = Seen(capture, version, rmbe, count, sys.argv[5:])
    seen.no_complaints()
    seen.clc()
    if not faults:
        seen.queue_pairs()
        seen.writes()
        seen.llc()
        seen.cdc()
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
