/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resolver under a forged stream of events. A record is 8 bytes: what and how, process, address, size, and two of time, so that
 * a seed can be written by hand (fuzz/seeds/make-resolver.sh). Few processes, addresses and ids, so that they meet each other; times and sizes run
 * backwards, over the end and beyond all limits. Each sample must have one whole answer, and memory what the records can account for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD 8
#define CODE UINT64_C(0x7f0000000000)
#define MAX_RECORDS 4096
#define REGION_BYTES UINT64_C(4096) /* for one region: a block that it has to itself, and its part of the tables */

/* What: the low four bits of the first byte; the high four are its flags. */
enum { LOAD, UNLOAD, MOVE, HEAP, SAMPLE, MMAP, MUNMAP, FORK, EXEC, EXIT, SOURCE, MARKER, PROC, FILEMAP, KSYMBOL, SAMPLE_KERNEL };

struct record {
	unsigned int what, flags;
	int32_t pid;
	uint64_t addr, size, time;
	uint8_t raw[RECORD];
};

struct run {
	struct resolver *r;
	uint64_t n_loads, now, ids;
	struct { /* what was said of each region, by its id */
		uint64_t addr, size;
		uint32_t source;
		bool moved;
	} told[MAX_RECORDS + 1];
};

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "fuzz-resolver: %s\n", #x); abort(); } } while (0)

static struct record record_of(struct run *x, const uint8_t *d)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40, UINT32_MAX, (UINT64_C(1) << 29) - 1, UINT64_C(1) << 29 };
	struct record c = { .what = d[0] & 15, .flags = d[0] >> 4, .pid = 1 + d[1] % 5 };

	memcpy(c.raw, d, RECORD);
	c.addr = d[2] < 248 ? CODE + d[2] * UINT64_C(16) : odd[d[2] - 248] - d[5];
	c.size = d[3] < 248 ? d[3] * UINT64_C(8) : odd[d[3] - 248];
	/* Forwards as a rule: by up to 65 ms; with bit 7 of the process, far ahead, and with bit 6, back. */
	c.time = d[1] & 0x40 ? x->now - MIN(x->now, (uint64_t)d[6] << 28) : x->now + ((uint64_t)d[6] << 8 | d[7]) * (d[1] & 0x80 ? 1000000000 : 1000);
	if (d[1] == 0xff)
		c.time = odd[d[6] % 8];
	else
		x->now = MAX(x->now, c.time);
	return c;
}

static void jit_event(struct run *x, const struct record *c, uint8_t type)
{
	struct ev e = { .type = EV_JIT, .cpu = UINT32_MAX, .time_ns = c->time, .pid = c->pid, .tid = -1 };
	struct jit_event *j = &e.u.jit.e;

	e.u.jit.source = c->raw[4] % 4;
	*j = (struct jit_event){ .type = type, .kind = c->flags & 3, .flags = c->flags & 4 ? JIT_SINCE_UNKNOWN : 0, .time_ns = c->time, .tier = -1,
				 .addr = c->addr, .size = c->size, .image_offset = c->addr & 0xfffff, .segment = c->raw[5] == 255 ? UINT32_MAX : 0 };
	if (type == JIT_EVENT_LOAD) {
		j->id = ++x->ids;
		x->told[j->id].addr = j->addr;
		x->told[j->id].size = j->size;
		x->told[j->id].source = e.u.jit.source;
		x->n_loads++;
	} else {
		j->id = x->ids ? c->raw[5] % (x->ids + 1) : 0;
	}
	if (type == JIT_EVENT_UNLOAD)
		j->flags = c->flags & 8 ? (uint32_t)c->raw[3] << (c->flags & 7) * 4 : 0;
	if (type == JIT_EVENT_MOVE) {
		j->old_addr = x->told[j->id].addr;
		for (uint64_t i = 1; i <= x->ids; i++) /* without an id it is whichever lives there */
			x->told[i].moved |= !j->id || i == j->id;
	}
	CHECK(resolver_early(x->r, &e) == 0);
}

static void source(struct run *x, const struct record *c)
{
	static const uint64_t lags[] = { 0, 1000000, 20000000, 1000000000, UINT64_MAX };
	struct ev e = { .type = EV_JITSRC, .cpu = UINT32_MAX, .time_ns = c->time, .pid = c->pid, .tid = c->pid };
	char name[32];

	snprintf(name, sizeof(name), "%d-%x", c->pid, c->raw[4] % 4);
	e.u.jitsrc.source = c->raw[4] % 4;
	e.u.jitsrc.kind = 1 + c->raw[5] % 9;
	e.u.jitsrc.lag_ns = lags[c->raw[3] % ARRAY_SIZE(lags)];
	e.u.jitsrc.instance = c->flags & 1 ? "/etc/passwd" : name;
	CHECK(resolver_early(x->r, &e) == 0);
}

static void sample(struct run *x, const struct record *c, enum ev_cpumode mode)
{
	struct ev e = { .type = EV_SAMPLE, .time_ns = c->time, .pid = c->pid, .tid = c->pid };
	struct resolver_ask ask = { c->addr, c->pid, mode };
	struct proc *p;
	struct hit h;

	memset(&h, 0xa5, sizeof(h)); /* what an answer leaves out is seen */
	CHECK(resolver_event(x->r, &e) == 0);
	p = resolver_proc(x->r, c->pid, c->time);
	CHECK(p);
	resolver_prefetch(x->r, &ask, 1);
	resolver_find(x->r, p, c->time, c->addr, mode, &h);
	CHECK(h.class <= HIT_UNKNOWN && h.quality <= HIT_AMBIGUOUS && h.image <= HIT_RANGE && h.cache);
	CHECK((h.image == HIT_JIT) == (h.quality != HIT_PLAIN));
	if (h.image == HIT_JIT) {
		CHECK(h.source && h.region_id && h.region_id <= x->ids && mode != EV_KERNEL);
		CHECK(jitsrc_number(h.source) == x->told[h.region_id].source);
		CHECK(x->told[h.region_id].moved || c->addr - x->told[h.region_id].addr < x->told[h.region_id].size);
	} else {
		CHECK(h.name && strlen(h.name) < 5000);
	}
	if (h.image == HIT_RANGE)
		CHECK(c->addr >= h.start && c->addr <= h.end && h.key == c->addr - h.start);
	CHECK(proc_exe(x->r, p) && proc_app(x->r, p) && proc_pid(p) == c->pid && proc_cache(p));
	(void)proc_delivers_late(p);
}

static void event(struct run *x, const struct record *c)
{
	static const char *const paths[] = { "//anon", "/lib/x.so", "/memfd:jit (deleted)", "/tmp/gone (deleted)", "[heap]", "[vdso]", "", "/dev/zero" };
	struct ev e = { .time_ns = c->time, .pid = c->pid, .tid = c->flags & 8 ? c->pid + 1 : c->pid };
	char path[64];

	switch (c->what) {
	case FILEMAP:
	case MMAP:
	case MARKER:
		e.type = EV_MMAP;
		e.pid = c->flags == 15 ? -1 : c->pid;
		e.u.mmap.addr = c->addr;
		e.u.mmap.len = c->flags & 4 ? c->size << 8 : c->size;
		e.u.mmap.pgoff = c->raw[5] == 255 ? UINT64_MAX : c->raw[5];
		snprintf(path, sizeof(path), "/jit/%d-%x/ring", c->pid, c->raw[4] % 4);
		e.u.mmap.path = c->what == MARKER ? path : c->what == MMAP ? paths[0] : paths[c->raw[4] % ARRAY_SIZE(paths)];
		break;
	case MUNMAP:
		e.type = EV_MUNMAP;
		e.u.mmap.addr = c->addr;
		e.u.mmap.len = c->size;
		break;
	case FORK:
		e.type = EV_FORK;
		e.u.fork.ppid = 1 + c->raw[4] % 5;
		break;
	case EXEC:
		e.type = EV_COMM;
		e.u.comm.comm = "comm";
		e.u.comm.flags = c->flags & 1 ? 0 : EV_COMM_EXEC;
		break;
	case EXIT:
		e.type = EV_EXIT;
		break;
	default:
		e.type = EV_KSYMBOL;
		e.pid = -1;
		e.u.ksymbol.addr = c->addr | UINT64_C(1) << 63;
		e.u.ksymbol.len = (uint32_t)c->size;
		e.u.ksymbol.name = "bpf_prog";
		e.u.ksymbol.unregister = c->flags & 1;
	}
	CHECK(resolver_event(x->r, &e) == 0);
}

static void proc(struct run *x, const struct record *c)
{
	struct ev e = { .type = EV_PROC, .cpu = UINT32_MAX, .time_ns = c->time, .pid = c->pid, .tid = c->pid };

	e.u.proc.exe = c->flags & 1 ? "" : "/bin/vm";
	e.u.proc.app = "vm:Main";
	e.u.proc.exec_count = c->raw[4] % 3;
	CHECK(resolver_early(x->r, &e) == 0);
}

static void one(struct run *x, const struct record *c)
{
	switch (c->what) {
	case LOAD: jit_event(x, c, JIT_EVENT_LOAD); break;
	case UNLOAD: jit_event(x, c, JIT_EVENT_UNLOAD); break;
	case MOVE: jit_event(x, c, JIT_EVENT_MOVE); break;
	case HEAP: jit_event(x, c, JIT_EVENT_HEAP); break;
	case SAMPLE: sample(x, c, c->flags & 1 ? EV_UNKNOWN_MODE : EV_USER); break;
	case SAMPLE_KERNEL: sample(x, c, EV_KERNEL); break;
	case SOURCE: source(x, c); break;
	case PROC: proc(x, c); break;
	default: event(x, c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run *x = calloc(1, sizeof(*x));
	struct resolver_stats st;
	size_t n = MIN(size / RECORD, (size_t)MAX_RECORDS), moves = 0;

	CHECK(x && resolver_new(&x->r) == 0);
	x->now = NSEC_PER_SEC;
	for (size_t i = 0; i < n; i++) {
		struct record c = record_of(x, data + i * RECORD);

		moves += c.what == MOVE;
		one(x, &c);
	}
	resolver_stats(x->r, &st);
	CHECK(st.n_regions <= x->n_loads + moves && st.n_sources <= 4 && st.max_lag_ns <= RESOLVER_MAX_LAG_NS);
	CHECK(st.region_bytes <= (x->n_loads + moves + 8) * REGION_BYTES);
	resolver_free(x->r);
	free(x);
	return 0;
}
