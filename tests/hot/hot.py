# SPDX-License-Identifier: GPL-3.0-or-later
import sys, time
def twice(n):
    s = 0
    for i in range(2 * n): s = (s * 31 + i) & 0xffffffff
    return s
def once(n):
    s = 0
    for i in range(n): s = (s * 31 + i) & 0xffffffff
    return s
t = x = y = 0
cpu = time.process_time
for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
    a = cpu(); t ^= twice(400000); b = cpu(); t ^= once(400000); x += b - a; y += cpu() - b
try:
    with open("own", "w") as f: f.write("%f %f" % (x, y))
except OSError: pass
print("number")
