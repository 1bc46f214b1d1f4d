/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIBOPAGENT_CORE_H
#define OPJIT_LIBOPAGENT_CORE_H
/*
 * The one instance of this process: its directory, its ring and the segment that grows. Private to libopagent.
 *
 * Threads: everything in struct core but `opts`, `fork_mark` and `forks` is guarded by the ring's semaphore; opening,
 * closing and starting anew after a fork by open_lock in open.c. What a thread that vanished in the middle left half done
 * is made whole by core_recover(): the section sizes in the image are the truth, tables in memory are built anew.
 *
 * Order of each event, so that a reader sees a valid state between any two instructions:
 *	bytes into .text, strings into .strtab, symbol → size of .text → of .strtab → of .symtab → record → size of
 *	.opjit.journal → ring.reserved → entry → ring.committed
 */
#include <link.h>

#include "format/jit/layout.h"
#include "lib/map.h"
#include "libopagent/opagent.h"
#include "libopagent/sys.h"

#define CORE_STEP ((uint64_t)4 << 20)
#if __SIZEOF_POINTER__ == 8
#define CORE_TEXT_ROOM ((uint64_t)64 << 20)
#define CORE_NOBITS_ROOM ((uint64_t)1 << 30)
#else
#define CORE_TEXT_ROOM ((uint64_t)16 << 20)
#define CORE_NOBITS_ROOM ((uint64_t)256 << 20)
#endif
#define CORE_TABLE_MAX (1u << 20) /* entries of a table, names and files of a region */

typedef ElfW(Shdr) core_shdr;

/* A growing section. */
struct part {
	core_shdr *sh;   /* in the mapped image; sh_size is what readers see */
	uint64_t off;    /* in the file */
	uint64_t room;
	uint64_t used;
	uint64_t ready;  /* bytes that have blocks */
	bool small;      /* no huge pages from here on: the disk was full */
};

struct intern {
	struct intern_slot {
		uint32_t hash, off; /* off 0 = free */
	} *slots;
	uint32_t n_slots, used;
};

struct segment {
	uint8_t *map;    /* NULL = none */
	uint64_t bytes;  /* of the file and the mapping */
	int fd;
	uint32_t number;
	struct part text, symtab, strtab, journal;
	uint64_t nobits_addr, nobits_used;
	struct intern intern;
};

struct region { /* a live one */
	uint64_t id, addr, size, image_offset;
	uint64_t code;     /* pointer that its bytes came from, if that differs from addr */
	uint32_t segment;
	uint32_t next_free;
};

struct core {
	/* set at open */
	struct opagent_open_opts opts; /* strings are owned */
	uint32_t *fork_mark;  /* 1; the kernel makes it 0 in a forked child. NULL: compare `pid` */
	int32_t pid;
	uint32_t forks;       /* times this memory was forked: thread ids cached before are not ours */
	int state;            /* 0, or why nothing can be posted (-errno) */
	/* the instance */
	char dir[4096], name[64], parent[64];
	int dirfd;
	struct jit_identity who;
	struct jit_ring_header *ring;
	struct jit_ring_entry *entries;
	size_t ring_bytes;
	void *marker;
	struct jit_ring_header *old_ring; /* of the instance closed last: a late thread may still look at its semaphore */
	size_t old_ring_bytes;
	bool forked;
	struct segment seg;
	uint32_t n_segments;
	uint64_t seq, next_id;
	uint64_t bytes_before; /* of the segments before */
	uint64_t retry_text_ns, retry_segment_ns; /* no new try before: the disk is full */
	uint32_t logged;       /* kinds of failure told already */
	/* live regions */
	struct u64map by_addr; /* addr → index + 1 */
	struct u64map by_code;
	struct region *regions;
	uint32_t n_regions, room_regions, free_region; /* list through next_free, index + 1 */
	/* scratch */
	uint32_t *refs;
	uint32_t n_refs;
};

/* --- place.c: where, and who we are --- */
int place_make(struct core *c);
void place_identity(struct core *c);

/* --- log.c: one line a kind of failure --- */
enum log_kind { LOG_ASKED, LOG_PLACE, LOG_RING, LOG_SEGMENT, LOG_TEXT, LOG_META, LOG_CAP, LOG_MARKER };
void log_failure(struct core *c, enum log_kind kind, const char *what, int err);

/* --- ringw.c --- */
int ring_make(struct core *c);
void ring_unmap(struct core *c);
void ring_post(struct core *c, const struct jit_record *r, uint64_t journal_next);

/* --- segment.c: the image that grows --- */
int segment_make(struct core *c);
void segment_leave(struct core *c, bool trim);
/* Room for `need` more bytes with blocks behind them. -E2BIG: the section's room is used up; -ENOSPC …: the disk. */
int part_reserve(struct core *c, struct part *p, uint64_t need);
/* The blocks of what is reserved and not used. */
void part_give_back(struct core *c, struct part *p);
static inline uint8_t *part_tail(struct core *c, struct part *p) { return c->seg.map + p->off + p->used; }
/* Makes the bytes up to `used` visible: one aligned store. */
static inline void part_commit(struct part *p)
{
	__atomic_store_n(&p->sh->sh_size, (__typeof__(p->sh->sh_size))p->used, __ATOMIC_RELEASE);
}
/* Offset of the string in .strtab, added if it is new (the caller has reserved len + 1 bytes); not yet committed. */
uint32_t segment_string(struct core *c, const char *s, size_t len);
/* Takes the sizes from the image again and drops the table of strings. */
void segment_recover(struct core *c);

/* --- regions.c: live regions by address --- */
int regions_add(struct core *c, const struct region *r);
struct region *regions_find(struct core *c, uint64_t addr);
struct region *regions_by_code(struct core *c, uint64_t code);
void regions_del(struct core *c, struct region *r);
int regions_move(struct core *c, struct region *r, uint64_t to);
void regions_forget(struct core *c); /* without free: the memory may be half changed */
void regions_free(struct core *c);

/* --- core.c: events; all need the semaphore (core_enter … core_leave) --- */
int core_enter(struct core *c);
void core_leave(struct core *c);
int core_load(struct core *c, const struct opagent_region *r, uint64_t *id);
int core_amend(struct core *c, const struct opagent_region *r);
/* Lines of the drop-in interface. */
int core_lines1(struct core *c, const void *code, size_t n, const struct debug_line_info *map);
/* late_us: for so long before time_ns other code may have had the room already; 0 as a rule. */
int core_unload(struct core *c, uint64_t addr, uint64_t time_ns, uint32_t late_us);
int core_move(struct core *c, uint64_t from, uint64_t to, uint64_t time_ns);
int core_heap(struct core *c, const char *name, uint64_t addr, uint64_t size);
int core_close_event(struct core *c);
bool core_forked(const struct core *c);

/* --- recover.c: after a thread vanished while it held the semaphore --- */
void core_recover(struct core *c);

/* --- open.c: handles --- */
struct opagent { /* one of a fixed few, never freed: a stale one is noticed */
	bool open;
};
int handle_open(struct opagent **ret, const struct opagent_open_opts *o);
int handle_close(struct opagent *a);
/* The instance of an open handle, NULL for any other pointer. */
struct core *handle_core(const struct opagent *a);
/* In a forked child, before its first event: leaves the parent's instance and makes its own. */
void core_after_fork(struct core *c);

#endif
