#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""hotspot-judge.py [--late] PROBES RESOLVED: what uprobe-log saw at HotSpot's own probes against what resolve-dump says of each sample.

By the probes a method is live from its load to its unload. Prints what agrees, what does not and how, and how late our
stamps are. Status 1 if less than 99.9 % of the samples got the method that the probes say was live.

--late: for a VM that is kept from telling in time. What is counted as ambiguous, and what was told later than the lag, may be wrong,
and what has no name is not; of the others at least 100 must be left."""
import bisect
import re
import sys
from collections import Counter, defaultdict

PRIMITIVES = dict(B='byte', C='char', D='double', F='float', I='int', J='long', S='short', Z='boolean', V='void')
LAG_NS = 1_000_000_000  # what a stamp of HotSpot may be late; code that is told later has no name before
INSTALL_NS = 200_000_000  # code may run a little before its load probe: HotSpot installs it first


def parameters(sig):
	out, at = [], 1
	while at < len(sig) and sig[at] != ')':
		dims = 0
		while sig[at] == '[':
			dims, at = dims + 1, at + 1
		if sig[at] == 'L':
			end = sig.index(';', at)
			name, at = sig[at + 1:end].replace('/', '.').split('.')[-1], end + 1
		else:
			name, at = PRIMITIVES.get(sig[at], '?'), at + 1
		out.append(name + '[]' * dims)
	return out


def text(fields, what):
	return bytes.fromhex(fields[what])[:int(fields[what + 'l'], 16)].decode('utf-8', 'replace')


def hidden(name):  # the address that tells hidden classes apart is written in many ways
	return re.sub(r'[+./](0x[0-9a-f]+)', r'/\1', name)


def probe_name(f):
	if int(f['cl'], 16) > len(f['c']) // 2 or int(f['ml'], 16) > len(f['m']) // 2:
		return None  # longer than what was recorded of it
	sig = text(f, 's')
	cut = int(f['sl'], 16) > len(f['s']) // 2
	return hidden(text(f, 'c').replace('/', '.')) + '.' + text(f, 'm'), None if cut else parameters(sig)


def our_name(s):
	m = re.match(r'(?:\S+ )?([^ (]+)\((.*)\)', s)
	if not m:
		return s, None
	return hidden(m[1].replace('::', '.')), [a.strip().split('.')[-1] for a in m[2].split(',')] if m[2] else []


def same(a, b):
	if a is None or b is None:
		return False
	return a[0] == b[0] and (a[1] is None or b[1] is None or a[1] == b[1])


class Life:
	def __init__(self, code, size, name, load):
		self.code, self.end, self.name, self.load, self.unload = code, code + size, name, load, float('inf')


def read_probes(path):
	events, lost = [], 0
	for line in open(path):
		w = line.split()
		if w[0] == 'lost':
			lost = int(w[1])
			continue
		events.append((int(w[0]), int(w[1]), w[2], dict(x.split('=', 1) for x in w[3:])))
	events.sort(key=lambda e: e[0])
	return events, lost


def lives_of(events, pid, tally):
	lives, codes, live = [], [], {}
	for t, p, what, f in events:
		if p != pid:
			continue
		name = probe_name(f)
		if what.startswith('load'):
			tally['loads'] += 1
			code, size = int(f['code'], 16), int(f['size'], 16)
			at = bisect.bisect_left(codes, code)
			for c in [c for c in codes[max(0, at - 1):] if c < code + size][:8]:
				if live[c].end > code:
					live.pop(c).unload = t
					codes.remove(c)
					tally['reused without an unload'] += 1
			life = Life(code, size, name, t)
			lives.append(life)
			live[code] = life
			bisect.insort(codes, code)
			continue
		tally['unloads'] += 1
		# The probe tells the method, not the code. A register has the blob, which begins a little before its code.
		found = None
		for reg, v in f.items():
			at = bisect.bisect_right(codes, int(v, 16)) if reg.startswith('r_') else len(codes)
			if at < len(codes) and codes[at] - int(v, 16) < 65536 and same(live[codes[at]].name, name):
				found = codes[at]
		if found is None:
			tally['unloads of no code'] += 1
			continue
		live.pop(found).unload = t
		codes.remove(found)
	return lives


class Index:
	"""Lives by address: buckets of 4 KiB."""
	def __init__(self, lives):
		self.buckets = defaultdict(list)
		for l in lives:
			for b in range(l.code >> 12, (l.end >> 12) + 1):
				self.buckets[b].append(l)

	def at(self, ip):
		return [l for l in self.buckets.get(ip >> 12, ()) if l.code <= ip < l.end]


def read_resolved(path):
	regions, unloads, samples = {}, {}, []
	for line in open(path, errors='replace'):
		w = line.rstrip('\n').split(' ', 7)
		if w[0] == 'L':
			regions[w[1], w[2]] = (int(w[3]), int(w[4], 16), int(w[5], 16), w[6] == '0', our_name(w[7]))
		elif w[0] == 'U':
			unloads[w[1], w[2]] = int(w[3])
		elif w[0] == 'S':
			samples.append((int(w[1]), int(w[2]), int(w[3], 16), w[4], w[5], (w[6], w[7])))
	return regions, unloads, samples


def told_late(s, at, ours, unload):
	"""Whether the end of ours, at this address, was told later than the lag; for the names that is as if it was never told."""
	ends = [l.unload for l in at if same(ours[4], l.name) and l.unload <= s[0]]
	return bool(ends) and unload - max(ends) > LAG_NS


def judge_sample(s, index, regions, unloads, reach, stamps):
	t, _, ip, cls, quality, region = s
	at = index.at(ip)
	live = [l for l in at if l.load <= t < l.unload]
	ours = regions[region] if cls == 'method' else None
	if live:
		l = max(live, key=lambda x: x.load)
		if ours is None and cls in ('gap', 'anon') and all(x - s[0] > LAG_NS for x in stamps.get(l.code, ()) if x >= l.load):
			return 'told later than the lag'
		if ours is None:
			return 'no name (%s)' % cls if cls not in ('stub', 'interpreter') else 'a stub in place of the method'
		if same(ours[4], l.name):
			return 'agree'
		if told_late(s, at, ours, unloads.get(region, float('inf'))):
			return 'another method, its end told later than the lag'
		return 'another method' + (', counted ambiguous' if quality == 'ambiguous' else '')
	if ours is None:
		return None
	if any(same(ours[4], l.name) and 0 < l.load - t < INSTALL_NS for l in at):
		return 'agree, before the load probe'
	if any(same(ours[4], l.name) and l.unload <= t for l in at):
		return 'after the unload probe'
	# JVMTI and the probes end a method at the same place; the agent adds the stubs behind it.
	if any(l.code <= ip < l.end + 4096 and same(ours[4], l.name) for l in reach.get(ip >> 12, []) + reach.get((ip >> 12) - 1, [])):
		return None
	return 'never live by the probes'


def spread(values):
	v = sorted(values)
	if not v:
		return 'none'
	pick = lambda q: v[min(len(v) - 1, int(len(v) * q))] / 1e6
	return 'median %.3f ms, p90 %.3f, p99 %.3f, most %.3f, least %.3f (%d)' % (pick(.5), pick(.9), pick(.99), v[-1] / 1e6, v[0] / 1e6, len(v))


def lateness(lives, regions, unloads):
	by_code, late, late_end = defaultdict(list), [], []
	for l in lives:
		by_code[l.code].append(l)
	for key, (time, addr, _, method, name) in regions.items():
		of = [l for l in by_code.get(addr, ()) if same(name, l.name)]
		if not method or not of:
			continue
		l = min(of, key=lambda x: abs(x.load - time))
		late.append(time - l.load)
		if key in unloads and l.unload != float('inf'):
			late_end.append(unloads[key] - l.unload)
	return late, late_end


def main():
	late_vm = sys.argv[1] == '--late'
	events, lost = read_probes(sys.argv[-2])
	regions, unloads, samples = read_resolved(sys.argv[-1])
	tally = Counter()
	pid = Counter(s[1] for s in samples if s[3] == 'method').most_common(1)[0][0]
	lives = lives_of(events, pid, tally)
	index = Index(lives)
	verdicts, shown, stamps = Counter(), 0, defaultdict(list)
	for time, addr, _, method, _ in regions.values():
		stamps[addr].append(time)
	for s in samples:
		v = judge_sample(s, index, regions, unloads, index.buckets, stamps) if s[1] == pid else None
		if v is None:
			continue
		verdicts[v] += 1
		if not v.startswith(('agree', 'told')) and shown < 10:
			shown += 1
			print('sample %d %#x %s %s: %s; ours %s; probes %s' % (s[0], s[2], s[3], s[4], v, regions.get(s[5], ['-'] * 5)[4], [
				(l.name, l.load - s[0], l.unload - s[0]) for l in index.at(s[2])][:4]))
	# A machine too busy for the VM's own events: without a name, as promised, and no matter of right or wrong.
	excused = ('told', 'another method, ', 'no name') if late_vm else 'told'
	judged, agree = sum(n for v, n in verdicts.items() if not v.startswith(excused)), sum(n for v, n in verdicts.items() if v.startswith('agree'))
	reused = len(lives) - len(set(l.code for l in lives))
	print('probes: %s, lost %d; of the loads %d took an address that had code before' % (
		', '.join('%s %d' % x for x in sorted(tally.items())), lost, reused))
	print('samples: ' + ', '.join('%s %d' % x for x in verdicts.most_common()))
	late, late_end = lateness(lives, regions, unloads)
	print('load stamps after the load probe: ' + spread(late))
	print('unload stamps after the unload probe: ' + spread(late_end))
	print('agreement %d of %d: %.3f %%' % (agree, judged, 100 * agree / max(judged, 1)))
	return 0 if judged >= (100 if late_vm else 1) and agree * 1000 >= judged * 999 and not lost else 1


sys.exit(main())
