#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perf-data.py OUT IMAGE ADDRESS…: a perf.data in which one process has IMAGE mapped whole, executable, and a sample at each
ADDRESS (of the image, hexadecimal), its user registers and a piece of stack beside it: perf 6.1 looks for inlined functions only in call
stacks that it unwinds by itself."""
import os
import struct
import sys

IP, TID, TIME, CALLCHAIN, PERIOD, REGS_USER, STACK_USER = 1, 2, 4, 0x20, 0x100, 0x1000, 0x2000
PID, BASE, STACK = 4711, 0x500000000000, 0x7ffffff00000
REGS = 1 << 6 | 1 << 7 | 1 << 8  # bp, sp, ip


def record(kind, misc, body):
	body += b'\0' * (-len(body) % 8)
	return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def main():
	image = os.path.realpath(sys.argv[2])
	size = os.path.getsize(image) + 4095 & ~4095
	data = record(3, 0x2000, struct.pack('<II', PID, PID) + b'vm\0')
	data += record(10, 2, struct.pack('<IIQQQIIQQII', PID, PID, BASE, size, 0, 0, 1, os.stat(image).st_ino, 0, 5, 2) + image.encode() + b'\0')
	for i, a in enumerate(sys.argv[3:]):
		ip = BASE + int(a, 16)
		data += record(9, 2, struct.pack('<QIIQQQQQQQQ', ip, PID, PID, 1000 + i, 1000, 0, 2, STACK, STACK, ip, 64) + b'\0' * 64 + struct.pack('<Q', 64))
	attr = struct.pack('<IIQQQQQ', 1, 112, 0, 1000, IP | TID | TIME | CALLCHAIN | PERIOD | REGS_USER | STACK_USER, 0, 1 << 8 | 1 << 9 | 1 << 23)
	attr = (attr.ljust(80, b'\0') + struct.pack('<QI', REGS, 64)).ljust(112, b'\0')
	attrs = 104
	at = attrs + len(attr) + 16
	head = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, len(attr) + 16, attrs, len(attr) + 16, at, len(data), 0, 0)
	with open(sys.argv[1], 'wb') as f:
		f.write(head.ljust(104, b'\0') + attr + struct.pack('<QQ', 0, 0) + data)


main()
