/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events: each becomes bytes and a symbol in the image, a record in the journal, an entry in the ring. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/jit/event.h"
#include "format/jit/tables.h"
#include "lib/util.h"
#include "libopagent/core.h"
#include "libopagent/lock.h"

#define RETRY_NS NSEC_PER_SEC
#define ALIGN 16u

static __thread struct {
	int32_t tid;
	uint32_t forks;
} me;

static uint32_t my_tid(const struct core *c)
{
	if (me.tid == 0 || me.forks != c->forks) {
		me.tid = sys_gettid();
		me.forks = c->forks;
	}
	return (uint32_t)me.tid;
}

bool core_forked(const struct core *c)
{
	return c->fork_mark ? __atomic_load_n(c->fork_mark, __ATOMIC_RELAXED) != 1 : c->pid != getpid();
}

int core_enter(struct core *c)
{
	int r;

	if (core_forked(c))
		core_after_fork(c);
	r = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
	if (r < 0)
		return r;
	if (lock_take(&c->ring->sem, &c->ring->sem_ns, my_tid(c)) > 0) {
		c->ring->recovered++;
		core_recover(c);
	}
	/* Closed while we waited. */
	if (c->state < 0)
		lock_drop(&c->ring->sem);
	return c->state;
}

void core_leave(struct core *c)
{
	lock_drop(&c->ring->sem);
}

/* What an event needs in each section. */
struct need {
	uint64_t text, symtab, strtab, journal;
};

static int reserve_all(struct core *c, const struct need *n)
{
	int r = part_reserve(c, &c->seg.journal, n->journal);

	if (!r)
		r = part_reserve(c, &c->seg.symtab, n->symtab);
	if (!r)
		r = part_reserve(c, &c->seg.strtab, n->strtab);
	return r;
}

/* The disk is full and names need room: what .text has reserved and not used is theirs. */
static void give_text_back(struct core *c)
{
	part_give_back(c, &c->seg.text);
	c->retry_text_ns = util_now_ns() + RETRY_NS;
}

static uint64_t bytes_now(const struct core *c)
{
	const struct segment *s = &c->seg;

	return c->bytes_before + s->text.used + s->symtab.used + s->strtab.used + s->journal.used;
}

/* A new segment, unless that failed a moment ago. */
static int segment_next(struct core *c)
{
	uint64_t now = util_now_ns();
	int r;

	if (now < c->retry_segment_ns)
		return -EAGAIN;
	r = segment_make(c);
	if (r < 0) {
		c->retry_segment_ns = now + RETRY_NS;
		log_failure(c, LOG_SEGMENT, "no further image can be made", r);
	}
	return r;
}

/* Names come first: whatever is there goes to them. */
static int names_room(struct core *c, const struct need *n)
{
	int r = reserve_all(c, n);

	if (!r && n->text && c->seg.text.used + n->text > c->seg.text.room)
		r = -E2BIG;
	if (r == -E2BIG) {
		segment_next(c);
		r = reserve_all(c, n); /* if there is no new one: the old one may lack room for bytes only */
	}
	if (r < 0 && r != -E2BIG) {
		give_text_back(c);
		r = reserve_all(c, n);
	}
	return r;
}

/* Bytes of code: not again at once where the disk was full. */
static int text_room(struct core *c, const struct need *n)
{
	int r;

	if (c->retry_text_ns && util_now_ns() < c->retry_text_ns)
		return -ENOSPC;
	r = part_reserve(c, &c->seg.text, n->text);
	c->retry_text_ns = r < 0 ? util_now_ns() + RETRY_NS : 0;
	if (r < 0)
		log_failure(c, LOG_TEXT, "names go on, code bytes stop", r);
	return r < 0 ? -ENOSPC : 0;
}

/*
 * Makes room for an event. *bytes (may be NULL) is set to false if the code's bytes find no room, and the result is then -ENOSPC
 * or -EFBIG with everything else reserved. *lost: nothing can be recorded.
 */
static int make_room(struct core *c, struct need *n, bool *bytes, bool *lost)
{
	int r, why = 0;

	*lost = false;
	if (n->text && (n->text > c->seg.text.room || bytes_now(c) + n->text > c->opts.max_bytes)) {
		log_failure(c, LOG_CAP, "over the size cap: names go on, code bytes stop", 0);
		why = -EFBIG;
		n->text = 0;
	}
	r = names_room(c, n);
	if (r < 0) {
		log_failure(c, LOG_META, "events are lost: no room for names", r);
		c->ring->dropped++;
		*lost = true;
		return -ENOSPC;
	}
	if (n->text && text_room(c, n) < 0) {
		why = -ENOSPC;
		n->text = 0;
	}
	if (bytes)
		*bytes = n->text != 0;
	return why;
}

static uint64_t string_need(const char *s, size_t *len)
{
	*len = s ? strnlen(s, JIT_NAME_MAX) : 0;
	return *len + 1;
}

static bool indexes_good(const struct opagent_region *r)
{
	for (uint32_t i = 0; i < r->n_lines; i++)
		if ((r->lines[i].file != UINT32_MAX && r->lines[i].file >= r->n_files) ||
		    (i && r->lines[i].offset < r->lines[i - 1].offset))
			return false;
	for (uint32_t i = 0; i < r->n_frames; i++)
		if ((r->frames[i].caller != UINT32_MAX && (r->frames[i].caller >= r->n_frames || r->frames[i].caller == i)) ||
		    r->frames[i].name >= r->n_names ||
		    (r->frames[i].file != UINT32_MAX && r->frames[i].file >= r->n_files))
			return false;
	for (uint32_t i = 0; i < r->n_inlines; i++)
		if ((r->inlines[i].frame != UINT32_MAX && r->inlines[i].frame >= r->n_frames) ||
		    (i && r->inlines[i].offset < r->inlines[i - 1].offset))
			return false;
	for (uint32_t i = 1; i < r->n_unwind; i++)
		if (r->unwind[i].offset < r->unwind[i - 1].offset)
			return false;
	return true;
}

static bool array_good(uint32_t n, const void *array) { return n <= CORE_TABLE_MAX && (array || !n); }

static bool strings_good(uint32_t n, const char *const *strings)
{
	if (!array_good(n, strings))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!strings[i])
			return false;
	return true;
}

static bool tables_good(const struct opagent_region *r)
{
	return array_good(r->n_lines, r->lines) && array_good(r->n_frames, r->frames) &&
	       array_good(r->n_inlines, r->inlines) && array_good(r->n_unwind, r->unwind) &&
	       strings_good(r->n_names, r->names) && strings_good(r->n_files, r->files) && indexes_good(r);
}

static void no_tables(struct opagent_region *r)
{
	r->n_lines = r->n_frames = r->n_inlines = r->n_unwind = r->n_names = r->n_files = 0;
}

/* Adds what the tables need; drops them if they could not fit any segment, or memory ends. */
static void tables_need(struct core *c, struct opagent_region *r, struct need *n)
{
	uint64_t journal = jit_lines_bound(r->n_lines) + jit_inlines_bound(r->n_frames, r->n_inlines) +
			   jit_unwind_bound(r->n_unwind) + 8, strings = 0;
	uint32_t n_refs = r->n_names + r->n_files;
	size_t len;

	for (uint32_t i = 0; i < r->n_names; i++)
		strings += string_need(r->names[i], &len);
	for (uint32_t i = 0; i < r->n_files; i++)
		strings += string_need(r->files[i], &len);
	if (n_refs > c->n_refs) {
		uint32_t *more = realloc(c->refs, n_refs * sizeof(*more));
		if (more) {
			c->refs = more;
			c->n_refs = n_refs;
		}
	}
	if (n_refs > c->n_refs || journal > MIN(c->seg.journal.room / 2, JIT_RECORD_MAX - JIT_RECORD_LONG) ||
	    strings > c->seg.strtab.room / 2) {
		no_tables(r);
		return;
	}
	n->journal += journal;
	n->strtab += strings;
}

static void tables_strings(struct core *c, const struct opagent_region *r)
{
	for (uint32_t i = 0; i < r->n_names; i++)
		c->refs[i] = segment_string(c, r->names[i], strnlen(r->names[i], JIT_NAME_MAX));
	for (uint32_t i = 0; i < r->n_files; i++)
		c->refs[r->n_names + i] = segment_string(c, r->files[i], strnlen(r->files[i], JIT_NAME_MAX));
}

/* Writes the tables behind the record that is to come at the journal's tail. */
static void tables_write(struct core *c, const struct opagent_region *r, struct jit_record *rec)
{
	uint8_t *start = part_tail(c, &c->seg.journal) + JIT_RECORD_LONG;
	struct jit_pack p = jit_pack_into(start);
	const uint32_t *files = c->refs + r->n_names;

	if (r->n_lines) {
		jit_pack_count(&p, r->n_lines);
		for (uint32_t i = 0; i < r->n_lines; i++) {
			const struct opagent_line *l = &r->lines[i];
			jit_pack_line(&p, &(struct jit_line){ .offset = l->offset, .line = l->line,
							      .file = l->file == UINT32_MAX ? 0 : files[l->file] });
		}
	}
	rec->lines_len = (uint32_t)(p.at - start);
	if (r->n_inlines) {
		jit_pack_count(&p, r->n_frames);
		for (uint32_t i = 0; i < r->n_frames; i++) {
			const struct opagent_frame *f = &r->frames[i];
			jit_pack_frame(&p, &(struct jit_frame){ .caller = f->caller, .name = c->refs[f->name],
								.file = f->file == UINT32_MAX ? 0 : files[f->file],
								.call_line = f->call_line });
		}
		jit_pack_count(&p, r->n_inlines);
		for (uint32_t i = 0; i < r->n_inlines; i++)
			jit_pack_range(&p, &(struct jit_inline_range){ .offset = r->inlines[i].offset,
								       .frame = r->inlines[i].frame,
								       .line = r->inlines[i].line });
	}
	rec->inlines_len = (uint32_t)(p.at - start) - rec->lines_len;
	if (r->n_unwind) {
		jit_pack_count(&p, r->n_unwind);
		for (uint32_t i = 0; i < r->n_unwind; i++) {
			const struct opagent_unwind_row *u = &r->unwind[i];
			jit_pack_unwind(&p, &(struct jit_unwind_row){ .offset = u->offset, .cfa_reg = u->cfa_reg,
				.cfa_offset = u->cfa_offset, .ra_offset = u->ra_offset, .fp_offset = u->fp_offset,
				.flags = u->flags });
		}
	}
	rec->unwind_len = (uint32_t)(p.at - start) - rec->lines_len - rec->inlines_len;
	rec->bytes = JIT_RECORD_LONG + (uint32_t)(p.at - start);
}

/* Numbers the record, writes it behind the tables' place, and makes it visible: image first, then ring. */
static void record_post(struct core *c, struct jit_record *rec)
{
	struct part *j = &c->seg.journal;
	bool is_short = rec->type == JIT_EVENT_UNLOAD || rec->type == JIT_EVENT_CLOSE;
	uint32_t head = is_short ? JIT_RECORD_SHORT : JIT_RECORD_LONG, whole;

	if (rec->bytes < head)
		rec->bytes = head;
	whole = ALIGN_UP(rec->bytes, 8);
	memset(part_tail(c, j) + rec->bytes, 0, whole - rec->bytes);
	rec->bytes = whole;
	rec->seq = c->seq + 1;
	memcpy(part_tail(c, j), rec, head);
	j->used += whole;
	part_commit(j);
	c->seq = rec->seq;
	ring_post(c, rec, j->used);
}

/* A global function symbol; .text and .strtab become visible before it. */
static void symbol_post(struct core *c, uint32_t name, uint64_t value, uint64_t size, bool in_text)
{
	struct segment *s = &c->seg;
	ElfW(Sym) sym = {
		.st_name = name, .st_value = (__typeof__(sym.st_value))value, .st_size = (__typeof__(sym.st_size))size,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = STV_DEFAULT,
		.st_shndx = in_text ? 4 : 5,
	};

	memcpy(part_tail(c, &s->symtab), &sym, sizeof(sym));
	s->symtab.used += sizeof(sym);
	part_commit(&s->text);
	part_commit(&s->strtab);
	part_commit(&s->symtab);
}

/* An address for a region without bytes; its size is clipped to what is left there. */
static uint64_t nobits_take(struct core *c, uint64_t *size)
{
	struct segment *s = &c->seg;
	uint64_t at = s->nobits_addr + s->nobits_used;

	*size = MIN(*size, CORE_NOBITS_ROOM / 4);
	s->nobits_used += ALIGN_UP(MAX(*size, (uint64_t)1), (uint64_t)ALIGN);
	return at;
}

static bool nobits_full(const struct core *c, uint64_t size)
{
	return c->seg.nobits_used + ALIGN_UP(MIN(size, CORE_NOBITS_ROOM / 4), (uint64_t)ALIGN) + ALIGN > CORE_NOBITS_ROOM;
}

/* Where the region's text lies: copied into .text, or only an address. */
static uint64_t text_place(struct core *c, const struct opagent_region *r, bool bytes, uint64_t *size)
{
	struct part *t = &c->seg.text;
	uint64_t at;

	if (!bytes)
		return nobits_take(c, size);
	t->used = ALIGN_UP(t->used, (uint64_t)ALIGN);
	at = t->off + t->used;
	memcpy(c->seg.map + at, r->code, r->code_size);
	t->used += r->code_size;
	return at;
}

static bool region_good(const struct opagent_region *r)
{
	return r->name && r->addr + r->code_size >= r->addr && r->kind <= OPAGENT_TRAMPOLINE &&
	       r->tier >= INT8_MIN && r->tier <= INT8_MAX && tables_good(r);
}

int core_load(struct core *c, const struct opagent_region *given, uint64_t *id)
{
	struct opagent_region r = *given;
	struct need n = { .symtab = sizeof(ElfW(Sym)), .journal = JIT_RECORD_LONG + 8 };
	struct jit_record rec = { .type = JIT_EVENT_LOAD, .kind = (uint8_t)r.kind, .tier = (int8_t)r.tier };
	struct region region;
	size_t name_len, source_len, desc_len;
	uint64_t size = r.code_size;
	bool bytes, lost;
	int q;

	if (!region_good(&r))
		return -EINVAL;
	n.strtab = string_need(r.name, &name_len) + string_need(r.source_file, &source_len) + string_need(r.descriptor, &desc_len);
	n.text = r.code && r.code_size ? ALIGN_UP(r.code_size, (uint64_t)ALIGN) + ALIGN : 0;
	tables_need(c, &r, &n);
	if (!n.text && nobits_full(c, size) && segment_next(c) < 0)
		c->seg.nobits_used = 0; /* addresses without bytes begin again: better than none */
	q = make_room(c, &n, &bytes, &lost);
	if (lost)
		return q;
	if (!bytes && nobits_full(c, size))
		c->seg.nobits_used = 0;
	rec.name_off = segment_string(c, r.name, name_len);
	rec.name_len = (uint32_t)name_len;
	rec.source_off = segment_string(c, r.source_file ? r.source_file : "", source_len);
	rec.source_len = (uint32_t)source_len;
	rec.desc_off = segment_string(c, r.descriptor ? r.descriptor : "", desc_len);
	rec.desc_len = (uint32_t)desc_len;
	tables_strings(c, &r);
	rec.image_offset = text_place(c, &r, bytes, &size);
	symbol_post(c, rec.name_off, rec.image_offset, size, bytes);
	tables_write(c, &r, &rec);
	rec.id = c->next_id++;
	rec.addr = r.addr;
	rec.size = r.code_size;
	rec.time_ns = r.time_ns ? r.time_ns : c->ring->sem_ns;
	rec.flags = (r.flags & 0xff) | (bytes ? 0 : JIT_NO_BYTES);
	rec.osr_bci = r.osr_bci;
	rec.region_segment = c->seg.number;
	record_post(c, &rec);
	region = (struct region){ .id = rec.id, .addr = r.addr, .size = r.code_size, .image_offset = rec.image_offset,
				  .segment = rec.region_segment };
	if (r.code && (uintptr_t)r.code != r.addr)
		region.code = (uintptr_t)r.code;
	regions_add(c, &region);
	if (id)
		*id = rec.id;
	return q;
}

/* An event about a region that is there. */
static int about(struct core *c, uint8_t type, const struct region *region, uint64_t addr, uint64_t time_ns, uint32_t flags)
{
	struct need n = { .journal = JIT_RECORD_LONG + 8 };
	struct jit_record rec = {
		.type = type, .tier = -1, .time_ns = time_ns ? time_ns : c->ring->sem_ns, .id = region->id, .addr = addr,
		.size = type == JIT_EVENT_MOVE ? region->size : 0, .image_offset = type == JIT_EVENT_MOVE ? region->addr : 0,
		.region_segment = region->segment, .flags = flags,
	};
	bool lost;
	int r = make_room(c, &n, NULL, &lost);

	if (!lost)
		record_post(c, &rec);
	return r;
}

int core_unload(struct core *c, uint64_t addr, uint64_t time_ns, uint32_t late_us)
{
	struct region *region = regions_find(c, addr);
	int r;

	/* A forked child may end a region that it has from its parent: number 0. */
	if (!region)
		return c->forked ? about(c, JIT_EVENT_UNLOAD, &(struct region){ .addr = addr }, addr, time_ns, late_us) : -ENOENT;
	r = about(c, JIT_EVENT_UNLOAD, region, addr, time_ns, late_us);
	regions_del(c, region);
	return r;
}

int core_move(struct core *c, uint64_t from, uint64_t to, uint64_t time_ns)
{
	struct region *region = regions_find(c, from);
	int r;

	if (!region)
		return -ENOENT;
	if (to + region->size < to)
		return -EINVAL;
	r = about(c, JIT_EVENT_MOVE, region, to, time_ns, 0);
	return regions_move(c, region, to) < 0 ? -ENOMEM : r;
}

static int amend_region(struct core *c, const struct region *region, struct opagent_region *r)
{
	struct need n = { .journal = JIT_RECORD_LONG + 8 };
	struct jit_record rec = { .type = JIT_EVENT_AMEND, .tier = -1, .time_ns = c->ring->sem_ns, .id = region->id,
				  .addr = region->addr, .size = region->size, .image_offset = region->image_offset,
				  .region_segment = region->segment };
	size_t source_len;
	bool lost;
	int q;

	n.strtab = string_need(r->source_file, &source_len);
	tables_need(c, r, &n);
	q = make_room(c, &n, NULL, &lost);
	if (lost)
		return q;
	rec.source_off = segment_string(c, r->source_file ? r->source_file : "", source_len);
	rec.source_len = (uint32_t)source_len;
	tables_strings(c, r);
	part_commit(&c->seg.strtab);
	tables_write(c, r, &rec);
	rec.flags = r->flags & OPAGENT_SAFEPOINT_LINES;
	record_post(c, &rec);
	return 0;
}

int core_amend(struct core *c, const struct opagent_region *given)
{
	struct region *region = regions_find(c, given->addr);
	struct opagent_region r = *given;

	if (!tables_good(&r))
		return -EINVAL;
	r.n_unwind = 0;
	return region ? amend_region(c, region, &r) : -ENOENT;
}

static int by_offset(const void *a, const void *b)
{
	const struct opagent_line *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Addresses of the entries are where the code runs, or where its bytes were copied from. */
static size_t lines1_convert(const struct region *region, size_t n, const struct debug_line_info *map,
			     struct opagent_line *lines, const char **files, uint32_t *n_files)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t base = map[i].vma - region->addr < region->size ? region->addr : region->code;
		if (map[i].vma - base >= region->size || !map[i].filename)
			continue;
		if (!*n_files || (files[*n_files - 1] != map[i].filename && strcmp(files[*n_files - 1], map[i].filename)))
			files[(*n_files)++] = map[i].filename;
		lines[kept++] = (struct opagent_line){ .offset = (uint32_t)(map[i].vma - base), .line = map[i].lineno,
						       .file = *n_files - 1 };
	}
	for (size_t i = 1; i < kept; i++)
		if (lines[i].offset < lines[i - 1].offset) {
			qsort(lines, kept, sizeof(*lines), by_offset);
			break;
		}
	return kept;
}

int core_lines1(struct core *c, const void *code, size_t n, const struct debug_line_info *map)
{
	struct region *region = regions_by_code(c, (uintptr_t)code);
	struct opagent_region r = { .size = sizeof(r) };
	AUTO_FREE struct opagent_line *lines = NULL;
	AUTO_FREE const char **files = NULL;

	if (!region)
		return 0;
	n = MIN(n, (size_t)CORE_TABLE_MAX);
	lines = calloc(n, sizeof(*lines));
	files = calloc(n, sizeof(*files));
	if (!lines || !files)
		return -ENOMEM;
	r.n_lines = (uint32_t)lines1_convert(region, n, map, lines, files, &r.n_files);
	r.lines = lines;
	r.files = files;
	return r.n_lines ? amend_region(c, region, &r) : 0;
}

int core_heap(struct core *c, const char *name, uint64_t addr, uint64_t size)
{
	struct need n = { .journal = JIT_RECORD_LONG + 8 };
	struct jit_record rec = { .type = JIT_EVENT_HEAP, .tier = -1, .addr = addr, .size = size,
				  .time_ns = c->ring->sem_ns, .region_segment = c->seg.number };
	size_t len;
	bool lost;
	int r;

	if (addr + size < addr)
		return -EINVAL;
	n.strtab = string_need(name, &len);
	r = make_room(c, &n, NULL, &lost);
	if (lost)
		return r;
	rec.name_off = segment_string(c, name ? name : "", len);
	rec.name_len = (uint32_t)len;
	rec.region_segment = c->seg.number;
	part_commit(&c->seg.strtab);
	record_post(c, &rec);
	return 0;
}

int core_close_event(struct core *c)
{
	int r = about(c, JIT_EVENT_CLOSE, &(struct region){ .segment = c->seg.number }, 0, 0, 0);

	__atomic_store_n(&c->ring->closed, 1, __ATOMIC_RELEASE);
	return r;
}
