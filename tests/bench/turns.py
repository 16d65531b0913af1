# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""turns: two crowds that are up at once, and of which one runs at a time.

The speed of a machine changes from one second to the next; what a crowd of
thousands loses against one of ten is less than that.
"""
import subprocess

from cell import CellError, matching_ports, own, pairs, program

TURN_MS = 40


class Crowd:
    """A manyconn that measures when it is told to."""

    def __init__(self, cell, column, options, seconds):
        argv = column.command([
            program("manyconn"), "-t", str(seconds), "-i", str(TURN_MS),
            "-p", str(matching_ports.take())] + list(options))
        self.process = subprocess.Popen(
            argv, env=column.environment(cell.env), text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        self.expect("ready")
        return self

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise CellError(f"manyconn said \"{line}\", not \"{word}\"")

    def turn(self):
        self.process.stdin.write("\n")
        self.expect("done")

    def figures(self):
        """The result of all turns; then it has ended."""
        self.process.stdin.close()
        line = self.process.stdout.read()
        if self.process.wait():
            raise CellError(f"manyconn: exit {self.process.returncode}")
        return pairs(line)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def in_turns(many, few, pick, scale):
    """A runner for manyconn: over TCP alone; with a device `many` and `few`
    in turn, of which the second is found["few"]."""
    alone = own("manyconn", many, pick, scale)

    def runner(cell, column, seconds):
        if not column.device:
            return alone(cell, column, seconds)
        with Crowd(cell, column, many, seconds) as large, \
                Crowd(cell, column, few, seconds) as small:
            order = [large, small]
            for _ in range(max(3, round(seconds * 1000 / TURN_MS))):
                for crowd in order:
                    crowd.turn()
                order.reverse()
            found, other = large.figures(), small.figures()
        found["value"] = found[pick] * scale
        other["value"] = other[pick] * scale
        found["few"] = other
        return found
    return runner
