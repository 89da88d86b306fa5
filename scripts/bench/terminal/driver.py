"""Runs a program on a terminal of its own: passes on what it prints, with its length in front, and types what it reads."""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios

plan = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp(plan["argv"][0], plan["argv"])

fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", plan["rows"], plan["columns"], 0, 0))
os.write(1, struct.pack(">I", 0) + struct.pack(">I", child))
sources = [0, terminal]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == terminal:
            os.write(1, struct.pack(">I", len(data)) + data)
        else:
            os.write(terminal, data)
os.waitpid(child, 0)
