/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/evlog.h"

#include <errno.h>
#include <sys/utsname.h>

#include "format/evlog/wire.h"
#include "format/evlog/cursor.h"
#include "lib/map.h"


struct wstream {
	uint8_t *page;      /* NULL until its first event */
	uint32_t used;
	bool open;          /* has events that were not handed out */
	bool early, made;   /* made: a page of it was handed out */
	uint64_t base, last, end, seq, lost, told_lost;
	uint64_t valid[4];
	struct evlog_slot *slots;
};

struct evlog_writer {
	uint32_t page_size, n_streams, room;
	bool swap, finished;
	int error;          /* of the page callback: nothing more is handed out */
	evlog_page_fn *page;
	void *arg;
	struct strpool pool;
	uint32_t *wire_ids; /* pool id -> string id */
	uint32_t n_wire_ids, next_string;
	struct wstream s[];
};

static const struct {
	uint8_t id;
	const char *name, *fields;
} standard_events[] = {
	{ ID_CTX, "ctx", "u32 slot:8,mode:8,truncated:8; u32 cpu; i32 pid; i32 tid; u32 event; u64 period" },
	{ ID_SAMPLE, "sample", "u64 ip:56,slot:8" },
	{ ID_SAMPLE_PERIOD, "sample_period", "u64 ip:56,slot:8; u32 period" },
	{ ID_SAMPLE_CHAIN, "sample_chain", "u32 words; u64 ip:56,slot:8; u32 shape; frames" },
	{ ID_MMAP, "mmap", "u32 words; u32 cpu; i32 pid; i32 tid; u64 addr; u64 len; u64 pgoff; u64 dev; u64 ino; "
			   "u64 ino_gen; u32 prot; u32 flags; str path" },
	{ ID_COMM, "comm", "u32 words; u32 cpu; i32 pid; i32 tid; u32 flags; str comm" },
	{ ID_FORK, "fork", "u32 cpu; i32 pid; i32 tid; i32 ppid; i32 ptid" },
	{ ID_EXIT, "exit", "u32 cpu; i32 pid; i32 tid" },
	{ ID_LOST, "lost", "u32 cpu; i32 pid; i32 tid; u64 count" },
	{ ID_KSYMBOL, "ksymbol", "u32 words; u32 cpu; i32 pid; i32 tid; u64 addr; u64 len; u32 unregister; str name" },
	{ ID_JIT, "jit", "u32 words; u32 cpu; i32 pid; i32 tid; u32 source; u32 type:8,kind:8,tier:8; u32 flags; "
			 "i32 osr_bci; u32 segment; u64 time; u64 addr; u64 size; u64 old_addr; u64 id; "
			 "u64 image_offset; str name; str source_file" },
	{ ID_JITSRC, "jitsrc", "u32 words; u32 cpu; i32 pid; i32 tid; u32 source; u32 kind; u64 lag; str instance" },
	{ ID_PROC, "proc", "u32 words; u32 cpu; i32 pid; i32 tid; u64 start_time; i32 ppid; i32 nspid; u32 uid; "
			   "u32 exec_count; str exe; str app" },
	{ ID_SYNC, "sync", "u32 cpu; i32 pid; i32 tid" },
	{ ID_MUNMAP, "munmap", "u32 cpu; i32 pid; i32 tid; u64 addr; u64 len" },
	{ ID_EVENTDESC, "eventdesc", "u32 words; u32 cpu; i32 pid; i32 tid; u32 index; u32 um; u32 flags; u64 count; "
				     "u64 freq; str name; str desc" },
	{ ID_THROTTLE, "throttle", "u32 cpu; i32 pid; i32 tid" },
	{ ID_SAMPLE_WIDE, "sample_wide", "u32 slot; u64 ip; u64 period" },
};

static int emit(struct evlog_writer *w, const void *data, size_t len)
{
	if (!w->error)
		w->error = w->page(w->arg, data, len);
	return w->error;
}

/* Hands the stream's page out, with the metadata that it may need in front. */
static int page_close(struct evlog_writer *w, uint32_t stream, uint16_t flags)
{
	struct wstream *s = &w->s[stream];
	struct evlog_page pg = {
		.stream = stream, .used = s->used, .seq = s->seq, .base = s->open ? s->base : s->end, .end = s->end,
		.lost = s->lost, .flags = flags,
	};
	uint32_t len = ALIGN_UP(EVLOG_PAGE_HEADER + s->used, 8u);
	uint8_t empty[EVLOG_PAGE_HEADER], *page = s->page ? s->page : empty; /* a stream that only syncs needs no page */
	int ret;

	if (stream) {
		if (w->s[0].open) {
			ret = page_close(w, 0, 0);
			if (ret < 0)
				return ret;
		}
	} else {
		pg.flags |= PGF_META;
		pg.base = pg.end = 0;
	}
	if (s->early)
		pg.flags |= PGF_EARLY;
	if (s->lost != s->told_lost)
		pg.flags |= PGF_MISSED;
	if (s->used % 8)
		memset(page + EVLOG_PAGE_HEADER + s->used, 0, 4);
	evlog_page_make(page, w->swap, &pg);
	s->told_lost = s->lost;
	s->seq++;
	s->used = 0;
	s->open = s->early = false;
	s->made = true;
	memset(s->valid, 0, sizeof(s->valid));
	return emit(w, page, len);
}

static int page_ready(struct evlog_writer *w, struct wstream *s)
{
	if (s->page)
		return 0;
	s->page = malloc(w->page_size);
	if (s != &w->s[0])
		s->slots = calloc(256, sizeof(*s->slots));
	if (!s->page || (s != &w->s[0] && !s->slots)) {
		free(s->page);
		s->page = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Sees to it that `bytes` more fit; closes the page otherwise. -E2BIG: they never will. */
static int page_room(struct evlog_writer *w, uint32_t stream, uint32_t bytes)
{
	struct wstream *s = &w->s[stream];
	int ret = page_ready(w, s);

	if (ret < 0)
		return ret;
	if (bytes > w->room)
		return -E2BIG;
	return bytes > w->room - s->used ? page_close(w, stream, 0) : 0;
}

/* Puts the head; time must not be before the stream's last. Room was made by page_room (16 bytes + the payload). */
static uint8_t *event_head(struct evlog_writer *w, struct wstream *s, uint32_t id, uint64_t time, uint32_t words)
{
	uint8_t *p = s->page + EVLOG_PAGE_HEADER + s->used;
	uint64_t delta;

	if (!s->open) {
		s->open = true;
		s->base = s->last = MAX(time, s->end);
	}
	time = MAX(time, s->last);
	delta = time - s->last;
	s->last = time;
	s->end = MAX(s->end, time);
	if (delta < 1u << 27) {
		wire_st32(p, id | (uint32_t)delta << 5, w->swap);
		s->used += 4 + words * 4;
		return p + 4;
	}
	wire_st32(p, ID_FULL, w->swap);
	wire_st32(p + 4, id | words << 16, w->swap);
	wire_st64(p + 8, time, w->swap);
	s->used += 16 + words * 4;
	return p + 16;
}

/* --- strings ------------------------------------------------------------------------------------------- */
static int meta_piece(struct evlog_writer *w, uint32_t id, uint32_t parent, const char *bytes, uint32_t len)
{
	uint32_t words = 4 + ALIGN_UP(len, 4u) / 4;
	uint8_t *p;
	int ret = page_room(w, 0, 16 + words * 4);

	if (ret < 0)
		return ret;
	p = event_head(w, &w->s[0], META_STRING, 0, words);
	wire_st32(p, words, w->swap);
	wire_st32(p + 4, id, w->swap);
	wire_st32(p + 8, parent, w->swap);
	wire_st32(p + 12, len, w->swap);
	memset(p + words * 4 - 4, 0, 4);
	memcpy(p + 16, bytes, len);
	if (!len)
		wire_st32(p + 12, 0, w->swap);
	return 0;
}

/* The id of a string, which is told to the metadata stream first if it is new. -ENOSPC: the table is full. */
static int64_t string_id(struct evlog_writer *w, const char *str, size_t len)
{
	uint32_t before = w->pool.n, parent = EVLOG_NO_STRING;
	int64_t id;

	len = MIN(len, EVLOG_MAX_STRING);
	if (w->next_string + len / EVLOG_INLINE_MAX + 1 >= EVLOG_MAX_STRINGS)
		return -ENOSPC;
	id = strpool_id(&w->pool, str, strnlen(str, len));
	if (id < 0 || (uint32_t)id < before)
		return id < 0 ? id : w->wire_ids[id];
	if ((uint32_t)id >= w->n_wire_ids) {
		uint32_t n = MAX(256u, w->n_wire_ids * 2);
		uint32_t *p = realloc(w->wire_ids, n * sizeof(*p));
		if (!p)
			return -ENOMEM;
		w->wire_ids = p;
		w->n_wire_ids = n;
	}
	len = strnlen(str, len);
	do {
		uint32_t n = (uint32_t)MIN(len, EVLOG_INLINE_MAX);
		int ret = meta_piece(w, w->next_string, parent, str, n);
		if (ret < 0)
			return ret;
		parent = w->next_string++;
		str += n;
		len -= n;
	} while (len);
	w->wire_ids[id] = parent;
	return parent;
}

/* A string on its way into an event: what stands in its field, and how many bytes at the tail. */
struct wstr {
	const char *s;
	uint32_t ref, bytes;
};

static int string_prepare(struct evlog_writer *w, struct wstr *ws, const char *s, size_t len, bool keep)
{
	int64_t id;

	*ws = (struct wstr){ .s = s, .ref = EVLOG_NO_STRING };
	if (!s)
		return 0;
	if (keep || len > EVLOG_INLINE_MAX - 1) {
		id = string_id(w, s, len);
		if (id >= 0) {
			ws->ref = (uint32_t)id;
			return 0;
		}
		if (id != -ENOSPC && id != -E2BIG)
			return (int)id;
		len = MIN(len, (size_t)EVLOG_INLINE_MAX - 1);
	}
	ws->bytes = (uint32_t)len + 1;
	ws->ref = EVLOG_STR_INLINE | ws->bytes;
	return 0;
}

static uint8_t *string_put(uint8_t *p, const struct wstr *ws)
{
	if (!ws->bytes)
		return p;
	memset(p + ALIGN_UP(ws->bytes, 4u) - 4, 0, 4);
	memcpy(p, ws->s, ws->bytes - 1);
	return p + ALIGN_UP(ws->bytes, 4u);
}

/* --- samples ------------------------------------------------------------------------------------------- */
static inline bool ip_fits(uint64_t ip)
{
	return (uint64_t)((int64_t)(ip << 8) >> 8) == ip;
}

/* The slot of this sample's context; tells it to the page if it is new there. Room for it was made. */
static uint32_t sample_slot(struct evlog_writer *w, struct wstream *s, const struct ev *e, uint64_t period, uint8_t truncated)
{
	uint32_t key = (uint32_t)e->tid * 2654435761u ^ (uint32_t)e->pid * 0x9e3779b1u ^ e->cpu << 24;
	uint32_t i = (key >> 24 ^ e->u.sample.mode ^ e->u.sample.event << 2) & 0xff;
	struct evlog_slot *slot = &s->slots[i];
	uint8_t *p;

	if (s->valid[i >> 6] >> (i & 63) & 1 && slot->tid == e->tid && slot->pid == e->pid && slot->cpu == e->cpu &&
	    slot->event == e->u.sample.event && slot->mode == e->u.sample.mode && slot->truncated == truncated)
		return i; /* the period may differ: the caller looks */
	s->valid[i >> 6] |= 1ULL << (i & 63);
	*slot = (struct evlog_slot){ .pid = e->pid, .tid = e->tid, .cpu = e->cpu, .event = e->u.sample.event,
				     .period = period, .mode = e->u.sample.mode, .truncated = truncated };
	p = event_head(w, s, ID_CTX, e->time_ns, 7);
	wire_st32(p, i | (uint32_t)slot->mode << 8 | (uint32_t)truncated << 16, w->swap);
	wire_st32(p + 4, slot->cpu, w->swap);
	wire_st32(p + 8, (uint32_t)slot->pid, w->swap);
	wire_st32(p + 12, (uint32_t)slot->tid, w->swap);
	wire_st32(p + 16, slot->event, w->swap);
	wire_st64(p + 20, period, w->swap);
	return i;
}

#define CTX_ROOM (16 + 28)
#define IP56(ip) ((ip) & 0xffffffffffffffULL)

/* Packs frames; the bytes used, or 0 if an address has a top bit of its own and raw words are due. */
static uint32_t frames_pack(uint8_t *p, uint64_t ip, const uint64_t *chain, uint32_t n, bool swap)
{
	uint8_t *q = p;
	uint64_t last = ip;

	for (uint32_t i = 0; i < n; i++) {
		int64_t d = (int64_t)(chain[i] - last);
		if (d >= -(1LL << 30) && d < 1LL << 30) {
			wire_st32(q, (uint32_t)d << 1, swap);
			q += 4;
		} else {
			uint64_t v = chain[i] << 1;
			if ((uint64_t)((int64_t)v >> 1) != chain[i])
				return 0;
			wire_st32(q, (uint32_t)v | 1, swap);
			wire_st32(q + 4, (uint32_t)(v >> 32), swap);
			q += 8;
		}
		last = chain[i];
	}
	return (uint32_t)(q - p);
}

static int write_chain(struct evlog_writer *w, uint32_t stream, const struct ev *e)
{
	struct wstream *s = &w->s[stream];
	uint8_t packed[EV_MAX_FRAMES * 8], *p;
	const uint64_t *chain = e->u.sample.chain;
	uint32_t n = MIN(e->u.sample.n_chain, EV_MAX_FRAMES), bytes, shape, words, slot;
	uint32_t most = (w->room - CTX_ROOM - 16 - 16 - 16) / 8;
	bool wide = !ip_fits(e->u.sample.ip), truncated = e->u.sample.truncated || n < e->u.sample.n_chain;
	int ret;

	if (n > most) { /* pages of less than 16 KiB */
		n = most;
		truncated = true;
	}
	shape = n | MIN(e->u.sample.n_kernel, n) << 11 | (uint32_t)truncated << 24 | (uint32_t)wide << 26;
	if (n && chain[0] == e->u.sample.ip) {
		shape |= 1u << 22;
		chain++;
		n--;
	}
	bytes = frames_pack(packed, e->u.sample.ip, chain, n, w->swap);
	if (n && !bytes) {
		shape |= 1u << 23;
		for (uint32_t i = 0; i < n; i++)
			wire_st64(packed + i * 8, chain[i], w->swap);
		bytes = n * 8;
	}
	ret = page_room(w, stream, CTX_ROOM + 16 + 16 + 16 + bytes);
	if (ret < 0)
		return ret;
	slot = sample_slot(w, s, e, e->u.sample.period, 0);
	if (s->slots[slot].period != e->u.sample.period)
		shape |= 1u << 25;
	words = 4 + (wide ? 2 : 0) + (shape >> 25 & 1) * 2 + bytes / 4;
	p = event_head(w, s, ID_SAMPLE_CHAIN, e->time_ns, words);
	wire_st32(p, words, w->swap);
	wire_st64(p + 4, (uint64_t)slot << 56 | IP56(e->u.sample.ip), w->swap);
	wire_st32(p + 12, shape, w->swap);
	p += 16;
	if (wide) {
		wire_st64(p, e->u.sample.ip, w->swap);
		p += 8;
	}
	if (shape >> 25 & 1) {
		wire_st64(p, e->u.sample.period, w->swap);
		p += 8;
	}
	memcpy(p, packed, bytes);
	return 0;
}

static int write_sample(struct evlog_writer *w, uint32_t stream, const struct ev *e)
{
	struct wstream *s = &w->s[stream];
	uint64_t period = e->u.sample.period;
	uint32_t slot;
	uint8_t *p;
	int ret;

	if (e->u.sample.n_chain)
		return write_chain(w, stream, e);
	ret = page_room(w, stream, CTX_ROOM + 16 + 20);
	if (ret < 0)
		return ret;
	slot = sample_slot(w, s, e, period, e->u.sample.truncated);
	if (!ip_fits(e->u.sample.ip) || (period != s->slots[slot].period && period > UINT32_MAX)) {
		p = event_head(w, s, ID_SAMPLE_WIDE, e->time_ns, 5);
		wire_st32(p, slot, w->swap);
		wire_st64(p + 4, e->u.sample.ip, w->swap);
		wire_st64(p + 12, period, w->swap);
	} else if (period != s->slots[slot].period) {
		p = event_head(w, s, ID_SAMPLE_PERIOD, e->time_ns, 3);
		wire_st64(p, (uint64_t)slot << 56 | IP56(e->u.sample.ip), w->swap);
		wire_st32(p + 8, (uint32_t)period, w->swap);
	} else {
		p = event_head(w, s, ID_SAMPLE, e->time_ns, 2);
		wire_st64(p, (uint64_t)slot << 56 | IP56(e->u.sample.ip), w->swap);
	}
	return 0;
}

/* --- the others ---------------------------------------------------------------------------------------- */
/* A body under construction. */
struct body {
	uint8_t b[128];
	uint32_t len;
	bool swap;
};
static void put32(struct body *b, uint32_t v)
{
	wire_st32(b->b + b->len, v, b->swap);
	b->len += 4;
}
static void put64(struct body *b, uint64_t v)
{
	wire_st64(b->b + b->len, v, b->swap);
	b->len += 8;
}

static int body_write(struct evlog_writer *w, uint32_t stream, uint32_t id, const struct ev *e, struct body *b,
		      const struct wstr *str, unsigned int n_str)
{
	bool variable = evlog_id_words[id] == EVLOG_VARIABLE;
	uint32_t words = b->len / 4 + n_str, fixed;
	uint8_t *p;
	int ret;

	for (unsigned int i = 0; i < n_str; i++) {
		put32(b, str[i].ref);
		words += ALIGN_UP(str[i].bytes, 4u) / 4;
	}
	fixed = b->len;
	ret = page_room(w, stream, 16 + words * 4);
	if (ret < 0)
		return ret;
	if (variable)
		wire_st32(b->b, words, w->swap);
	p = event_head(w, &w->s[stream], id, e->time_ns, words);
	memcpy(p, b->b, fixed);
	p += fixed;
	for (unsigned int i = 0; i < n_str; i++)
		p = string_put(p, &str[i]);
	if (evlog_id_is_early(id))
		w->s[stream].early = true;
	return 0;
}

static size_t str_len(const char *s)
{
	return s ? strlen(s) : 0;
}

static int write_jit(struct evlog_writer *w, struct body *b, const struct ev *e, struct wstr *str)
{
	const struct jit_event *j = &e->u.jit.e;
	int ret;

	put32(b, e->u.jit.source);
	put32(b, j->type | (uint32_t)j->kind << 8 | (uint32_t)(uint8_t)j->tier << 16);
	put32(b, j->flags);
	put32(b, (uint32_t)j->osr_bci);
	put32(b, j->segment);
	put64(b, j->time_ns);
	put64(b, j->addr);
	put64(b, j->size);
	put64(b, j->old_addr);
	put64(b, j->id);
	put64(b, j->image_offset);
	ret = string_prepare(w, &str[0], j->name, j->name_len, false);
	/* File names repeat, method names hardly do. */
	return ret < 0 ? ret : string_prepare(w, &str[1], j->source_file, j->source_file_len,
					      !memchr(j->source_file ?: "", 0, j->source_file_len));
}

/* Fields and strings of the variable events; the number of strings or -errno. */
static int body_fill(struct evlog_writer *w, struct body *b, const struct ev *e, struct wstr *str)
{
	int ret;

	switch (e->type) {
	case EV_MMAP:
		put64(b, e->u.mmap.addr);
		put64(b, e->u.mmap.len);
		put64(b, e->u.mmap.pgoff);
		put64(b, e->u.mmap.dev);
		put64(b, e->u.mmap.ino);
		put64(b, e->u.mmap.ino_gen);
		put32(b, e->u.mmap.prot);
		put32(b, e->u.mmap.flags);
		ret = string_prepare(w, &str[0], e->u.mmap.path, str_len(e->u.mmap.path), true);
		return ret < 0 ? ret : 1;
	case EV_COMM:
		put32(b, e->u.comm.flags);
		ret = string_prepare(w, &str[0], e->u.comm.comm, str_len(e->u.comm.comm), false);
		return ret < 0 ? ret : 1;
	case EV_KSYMBOL:
		put64(b, e->u.ksymbol.addr);
		put64(b, e->u.ksymbol.len);
		put32(b, e->u.ksymbol.unregister);
		ret = string_prepare(w, &str[0], e->u.ksymbol.name, str_len(e->u.ksymbol.name), false);
		return ret < 0 ? ret : 1;
	case EV_JIT:
		ret = write_jit(w, b, e, str);
		return ret < 0 ? ret : 2;
	case EV_JITSRC:
		put32(b, e->u.jitsrc.source);
		put32(b, e->u.jitsrc.kind);
		put64(b, e->u.jitsrc.lag_ns);
		ret = string_prepare(w, &str[0], e->u.jitsrc.instance, str_len(e->u.jitsrc.instance), false);
		return ret < 0 ? ret : 1;
	case EV_PROC:
		put64(b, e->u.proc.start_time);
		put32(b, (uint32_t)e->u.proc.ppid);
		put32(b, (uint32_t)e->u.proc.nspid);
		put32(b, e->u.proc.uid);
		put32(b, e->u.proc.exec_count);
		ret = string_prepare(w, &str[0], e->u.proc.exe, str_len(e->u.proc.exe), true);
		if (!ret)
			ret = string_prepare(w, &str[1], e->u.proc.app, str_len(e->u.proc.app), true);
		return ret < 0 ? ret : 2;
	case EV_EVENTDESC:
		put32(b, e->u.desc.index);
		put32(b, e->u.desc.um);
		put32(b, e->u.desc.flags);
		put64(b, e->u.desc.count);
		put64(b, e->u.desc.freq);
		ret = string_prepare(w, &str[0], e->u.desc.name, str_len(e->u.desc.name), true);
		if (!ret)
			ret = string_prepare(w, &str[1], e->u.desc.desc, str_len(e->u.desc.desc), true);
		return ret < 0 ? ret : 2;
	case EV_FORK:
		put32(b, (uint32_t)e->u.fork.ppid);
		put32(b, (uint32_t)e->u.fork.ptid);
		break;
	case EV_LOST:
		put64(b, e->u.lost.count);
		break;
	case EV_MUNMAP:
		put64(b, e->u.mmap.addr);
		put64(b, e->u.mmap.len);
		break;
	}
	return 0;
}

static const uint8_t type_ids[EV_TYPE_MAX] = {
	[EV_MMAP] = ID_MMAP, [EV_COMM] = ID_COMM, [EV_FORK] = ID_FORK, [EV_EXIT] = ID_EXIT, [EV_LOST] = ID_LOST,
	[EV_KSYMBOL] = ID_KSYMBOL, [EV_JIT] = ID_JIT, [EV_JITSRC] = ID_JITSRC, [EV_PROC] = ID_PROC,
	[EV_SYNC] = ID_SYNC, [EV_MUNMAP] = ID_MUNMAP, [EV_EVENTDESC] = ID_EVENTDESC, [EV_THROTTLE] = ID_THROTTLE,
};

static int write_other(struct evlog_writer *w, uint32_t stream, const struct ev *e)
{
	struct body b = { .swap = w->swap };
	struct wstr str[2];
	uint32_t id = type_ids[e->type];
	int n;

	if (evlog_id_words[id] == EVLOG_VARIABLE)
		put32(&b, 0); /* the words, known later */
	put32(&b, e->cpu);
	put32(&b, (uint32_t)e->pid);
	put32(&b, (uint32_t)e->tid);
	n = body_fill(w, &b, e, str);
	if (n < 0)
		return n;
	return body_write(w, stream, id, e, &b, str, (unsigned int)n);
}

int evlog_write(struct evlog_writer *w, uint32_t stream, const struct ev *e)
{
	int ret;

	if (!stream || stream > w->n_streams || w->finished || !e->type || e->type >= EV_TYPE_MAX)
		return -EINVAL;
	if (w->error)
		return w->error;
	ret = e->type == EV_SAMPLE ? write_sample(w, stream, e) : write_other(w, stream, e);
	if (ret < 0 && ret != w->error)
		w->s[stream].lost++;
	return ret;
}

int evlog_writer_lost(struct evlog_writer *w, uint32_t stream, uint64_t count)
{
	if (!stream || stream > w->n_streams || w->finished)
		return -EINVAL;
	w->s[stream].lost += count;
	return 0;
}

int evlog_writer_sync(struct evlog_writer *w, uint32_t stream, uint64_t time_ns)
{
	struct wstream *s;
	bool moved;

	if (!stream || stream > w->n_streams || w->finished)
		return -EINVAL;
	if (w->error)
		return w->error;
	s = &w->s[stream];
	moved = time_ns > s->end || s->lost != s->told_lost || !s->made;
	s->end = MAX(s->end, time_ns);
	return s->open || moved ? page_close(w, stream, 0) : 0;
}

int evlog_writer_finish(struct evlog_writer *w)
{
	int ret = 0;

	if (w->finished)
		return w->error;
	for (uint32_t i = 1; i <= w->n_streams && !ret; i++)
		if (w->s[i].open || w->s[i].lost != w->s[i].told_lost)
			ret = page_close(w, i, 0);
	if (!ret)
		ret = page_room(w, 0, 16);
	if (!ret) {
		event_head(w, &w->s[0], META_CLOSELOG, 0, 0);
		ret = page_close(w, 0, PGF_LAST);
	}
	w->finished = true;
	return ret;
}

/* --- beginning and end --------------------------------------------------------------------------------- */
static int meta_text(struct evlog_writer *w, uint32_t id, const struct body *b, const char *s1, const char *s2)
{
	size_t l1 = strlen(s1) + 1, l2 = s2 ? strlen(s2) + 1 : 0;
	uint32_t words = b->len / 4 + (uint32_t)ALIGN_UP(l1 + l2, 4u) / 4;
	uint8_t *p;
	int ret = page_room(w, 0, 16 + words * 4);

	if (ret < 0)
		return ret;
	p = event_head(w, &w->s[0], id, 0, words);
	memset(p, 0, words * 4);
	memcpy(p, b->b, b->len);
	wire_st32(p, words, w->swap);
	memcpy(p + b->len, s1, l1);
	if (s2)
		memcpy(p + b->len + l1, s2, l2);
	return 0;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

int evlog_writer_timesync(struct evlog_writer *w, uint64_t mono_ns, uint64_t real_ns)
{
	uint8_t *p;
	int ret = w->error ? w->error : w->finished ? -EINVAL : page_room(w, 0, 28);

	if (ret < 0)
		return ret;
	if (!mono_ns && !real_ns) {
		mono_ns = clock_ns(CLOCK_MONOTONIC);
		real_ns = clock_ns(CLOCK_REALTIME);
	}
	p = event_head(w, &w->s[0], ID_TIMESYNC, 0, 6);
	wire_st64(p, mono_ns, w->swap);
	wire_st64(p + 8, mono_ns, w->swap);
	wire_st64(p + 16, real_ns, w->swap);
	return 0;
}

int evlog_meta_copy_syncs(const struct evlog_meta *m, uint32_t *done, struct evlog_writer *w)
{
	int ret = 0;

	for (; *done < m->n_syncs && !ret; ++*done)
		ret = evlog_writer_timesync(w, m->syncs[*done].ns, m->syncs[*done].real + (m->syncs[*done].ns - m->syncs[*done].mono));
	return ret;
}

static int writer_begin(struct evlog_writer *w, const struct evlog_writer_opts *o)
{
	struct body b = { .swap = w->swap };
	uint8_t prefix[EVLOG_PREFIX_LEN];
	struct utsname un;
	uint64_t mono = o->anchor_real_ns ? o->anchor_mono_ns : clock_ns(CLOCK_MONOTONIC);
	int ret;

	evlog_prefix_make(prefix, (__BYTE_ORDER == __BIG_ENDIAN) != w->swap);
	ret = emit(w, prefix, sizeof(prefix));
	if (ret < 0)
		return ret;
	put32(&b, 0);
	put32(&b, 1);
	put32(&b, w->n_streams);
	put32(&b, w->page_size);
	put32(&b, EVLOG_CLOCK_MONOTONIC);
	put64(&b, NSEC_PER_SEC);
	put64(&b, mono);
	put64(&b, mono);
	put64(&b, o->anchor_real_ns ? o->anchor_real_ns : clock_ns(CLOCK_REALTIME));
	uname(&un);
	ret = meta_text(w, META_INIT, &b, o->machine ? o->machine : un.machine, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(standard_events) && !ret; i++) {
		uint8_t words = evlog_id_words[standard_events[i].id];
		b = (struct body){ .swap = w->swap };
		put32(&b, 0);
		put32(&b, standard_events[i].id);
		put32(&b, words == EVLOG_VARIABLE ? 0 : words);
		ret = meta_text(w, META_EVENT, &b, standard_events[i].name, standard_events[i].fields);
	}
	return ret ? ret : page_close(w, 0, 0);
}

int evlog_writer_new(struct evlog_writer **ret, const struct evlog_writer_opts *o)
{
	uint32_t size = o->page_size ? o->page_size : 16384;
	struct evlog_writer *w;
	int err;

	if (!o->page || !o->n_streams || o->n_streams > EVLOG_MAX_STREAMS || size < EVLOG_PAGE_MIN ||
	    size > EVLOG_PAGE_MAX || size & (size - 1))
		return -EINVAL;
	w = calloc(1, sizeof(*w) + (o->n_streams + (size_t)1) * sizeof(w->s[0]));
	if (!w)
		return -ENOMEM;
	w->page_size = size;
	w->room = size - EVLOG_PAGE_HEADER;
	w->n_streams = o->n_streams;
	w->page = o->page;
	w->arg = o->arg;
	w->swap = o->other_order;
	err = writer_begin(w, o);
	if (err < 0) {
		evlog_writer_free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void evlog_writer_free(struct evlog_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i <= w->n_streams; i++) {
		free(w->s[i].page);
		free(w->s[i].slots);
	}
	strpool_done(&w->pool);
	free(w->wire_ids);
	free(w);
}
