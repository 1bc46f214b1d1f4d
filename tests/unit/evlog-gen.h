/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_TESTS_UNIT_EVLOG_GEN_H
#define OPJIT_TESTS_UNIT_EVLOG_GEN_H
/* Random events of every type, and a list of blocks, for the tests of the event log. */
#include <string.h>

#include "format/evlog/evlog.h"
#include "format/evlog/text.h"
#include "lib/map.h"

struct gen {
	uint64_t seed;
	uint64_t chain[EV_MAX_FRAMES];
	char text[4][5000];
};

static inline uint64_t gen_u64(struct gen *g)
{
	g->seed += 0x9e3779b97f4a7c15ULL;
	return util_hash_u64(g->seed);
}
static inline uint32_t gen_below(struct gen *g, uint32_t n)
{
	return (uint32_t)(gen_u64(g) >> 33) % n;
}

static inline const char *gen_str(struct gen *g, unsigned int i, uint32_t most)
{
	uint32_t n = gen_below(g, most), kinds = gen_below(g, 4) ? 5 : 1000000;
	char *p = g->text[i];

	if (!gen_below(g, 20))
		return NULL;
	/* some come again and again, some once */
	p += snprintf(p, 40, "/dir%u/", gen_below(g, kinds));
	for (uint32_t k = 0; kinds > 5 && k < n; k++)
		*p++ = (char)(1 + gen_below(g, 255));
	*p = 0;
	return g->text[i];
}

static inline uint64_t gen_addr(struct gen *g)
{
	switch (gen_below(g, 8)) {
	case 0:
		return 0xffffffff81000000ULL + gen_below(g, 1 << 24);
	case 1:
		return gen_u64(g); /* anything */
	case 2:
		return 0x7f1234000000ULL + gen_below(g, 1 << 26);
	default:
		return 0x7f5550000000ULL + gen_below(g, 1 << 22);
	}
}

static inline void gen_sample(struct gen *g, struct ev *e, uint32_t frames)
{
	e->type = EV_SAMPLE;
	e->u.sample.ip = gen_addr(g);
	e->u.sample.period = gen_below(g, 8) ? 1003009 : gen_below(g, 4) ? gen_below(g, UINT32_MAX) : gen_u64(g);
	e->u.sample.event = gen_below(g, 3);
	e->u.sample.mode = (uint8_t)gen_below(g, 4);
	e->u.sample.truncated = !gen_below(g, 50);
	if (frames) {
		e->u.sample.n_chain = 1 + gen_below(g, frames);
		e->u.sample.n_kernel = gen_below(g, e->u.sample.n_chain + 1);
		for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
			g->chain[i] = gen_addr(g);
		if (gen_below(g, 8))
			g->chain[0] = e->u.sample.ip;
		e->u.sample.chain = g->chain;
	}
}

static inline void gen_jit(struct gen *g, struct ev *e)
{
	struct jit_event *j = &e->u.jit.e;

	e->u.jit.source = gen_below(g, 9);
	j->type = (uint8_t)(1 + gen_below(g, 6));
	j->kind = (uint8_t)gen_below(g, 4);
	j->tier = (int8_t)((int)gen_below(g, 6) - 1);
	j->flags = (uint32_t)gen_u64(g);
	j->osr_bci = (int32_t)gen_u64(g);
	j->time_ns = gen_u64(g);
	j->addr = gen_addr(g);
	j->size = gen_u64(g);
	j->old_addr = gen_u64(g);
	j->id = gen_u64(g);
	j->segment = (uint32_t)gen_u64(g);
	j->image_offset = gen_u64(g);
	j->name = gen_str(g, 0, 3000);
	j->name_len = j->name ? strlen(j->name) : 0;
	j->source_file = gen_str(g, 1, 100);
	j->source_file_len = j->source_file ? strlen(j->source_file) : 0;
}

/* `type` 0: any. The time is left to the caller. */
static inline void gen_event(struct gen *g, struct ev *e, uint32_t type, uint32_t frames)
{
	memset(e, 0, sizeof(*e));
	e->type = type ? type : 1 + gen_below(g, EV_TYPE_MAX - 1);
	e->cpu = gen_below(g, 5) ? gen_below(g, 4) : UINT32_MAX;
	e->pid = (int32_t)(100 + gen_below(g, 4));
	e->tid = gen_below(g, 9) ? e->pid + (int32_t)gen_below(g, 40) : -1;
	switch (e->type) {
	case EV_SAMPLE:
		gen_sample(g, e, gen_below(g, 2) ? frames : 0);
		break;
	case EV_MMAP:
		e->u.mmap.addr = gen_u64(g);
		e->u.mmap.len = gen_u64(g);
		e->u.mmap.pgoff = gen_u64(g);
		e->u.mmap.dev = gen_u64(g);
		e->u.mmap.ino = gen_u64(g);
		e->u.mmap.ino_gen = gen_u64(g);
		e->u.mmap.prot = gen_below(g, 8);
		e->u.mmap.flags = gen_below(g, 8);
		e->u.mmap.path = gen_str(g, 0, 4000);
		break;
	case EV_MUNMAP:
		e->u.mmap.addr = gen_u64(g);
		e->u.mmap.len = gen_u64(g);
		break;
	case EV_COMM:
		e->u.comm.comm = gen_str(g, 0, 12);
		e->u.comm.flags = gen_below(g, 2);
		break;
	case EV_FORK:
		e->u.fork.ppid = (int32_t)gen_u64(g);
		e->u.fork.ptid = (int32_t)gen_u64(g);
		break;
	case EV_LOST:
		e->u.lost.count = gen_u64(g);
		break;
	case EV_KSYMBOL:
		e->u.ksymbol.addr = gen_u64(g);
		e->u.ksymbol.len = gen_u64(g);
		e->u.ksymbol.unregister = gen_below(g, 2);
		e->u.ksymbol.name = gen_str(g, 0, 200);
		break;
	case EV_JIT:
		gen_jit(g, e);
		break;
	case EV_JITSRC:
		e->u.jitsrc.source = gen_below(g, 100);
		e->u.jitsrc.kind = gen_below(g, 9);
		e->u.jitsrc.lag_ns = gen_u64(g);
		e->u.jitsrc.instance = gen_str(g, 0, 60);
		break;
	case EV_PROC:
		e->u.proc.start_time = gen_u64(g);
		e->u.proc.ppid = (int32_t)gen_u64(g);
		e->u.proc.nspid = (int32_t)gen_u64(g);
		e->u.proc.uid = (uint32_t)gen_u64(g);
		e->u.proc.exec_count = gen_below(g, 100);
		e->u.proc.exe = gen_str(g, 0, 300);
		e->u.proc.app = gen_str(g, 1, 300);
		break;
	case EV_EVENTDESC:
		e->u.desc.index = gen_below(g, 4);
		e->u.desc.name = gen_str(g, 0, 60);
		e->u.desc.desc = gen_str(g, 1, 300);
		e->u.desc.count = gen_u64(g);
		e->u.desc.freq = gen_u64(g);
		e->u.desc.um = (uint32_t)gen_u64(g);
		e->u.desc.flags = gen_below(g, 2);
		break;
	}
}

/* Blocks as the writer handed them out. */
struct blocks {
	struct strbuf bytes;
	size_t at[100000];
	size_t n;
};
static inline int blocks_add(void *arg, const void *page, size_t len)
{
	struct blocks *b = arg;

	b->at[b->n++] = b->bytes.len;
	return strbuf_add(&b->bytes, page, len);
}
static inline size_t blocks_len(const struct blocks *b, size_t i)
{
	return (i + 1 < b->n ? b->at[i + 1] : b->bytes.len) - b->at[i];
}

/* Lines of text, as an order-keeping record of what came out. */
static inline int lines_add(void *arg, const struct ev *e)
{
	struct strbuf *sb = arg;

	evlog_text(sb, e);
	return strbuf_addch(sb, '\n');
}

#endif
