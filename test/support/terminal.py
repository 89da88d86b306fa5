"""Runs a program on a terminal of its own: writes what it prints, types keys when it has printed what they wait for."""

import fcntl
import json
import os
import pty
import struct
import sys
import termios

plan = json.loads(sys.argv[1])
keys = plan["keys"]
# Where the input hangs up, it is a terminal of its own: the program loses its keyboard, and not its screen.
hangup = plan.get("hangup")
keyboard, keyboard_of_child = pty.openpty() if hangup else (None, None)
child, terminal = pty.fork()
if child == 0:
    if keyboard_of_child is not None:
        os.close(keyboard)
        os.dup2(keyboard_of_child, 0)
    os.execvp(plan["argv"][0], plan["argv"])

if keyboard_of_child is not None:
    os.close(keyboard_of_child)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", plan["rows"], plan["columns"], 0, 0))
printed = b""
looked = 0
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    printed += data
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
    if plan.get("closes") and plan["closes"].encode() in printed:
        os.close(terminal)
        break
    if keyboard is not None and hangup.encode() in printed:
        os.close(keyboard)
        keyboard = None
    while keys:
        at = printed.find(keys[0]["after"].encode(), looked)
        if at < 0:
            break
        looked = at + len(keys[0]["after"].encode())
        os.write(terminal, keys.pop(0)["send"].encode())

_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
