# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# whole: what a peer says, to its end.


def read_all(s):
    parts = []
    while True:
        part = s.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
