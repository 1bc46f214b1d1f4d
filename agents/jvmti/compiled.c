/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines and inlined frames of a compiled method.
 *
 * HotSpot gives a list of (pc, stack of (method, bci) from the innermost outwards). A pc is the END of what it
 * describes, exclusive: it is noted when the next instruction has another origin, and at a call it is the
 * return address. (Read otherwise, nearly every line is that of its neighbour.) So record i holds from pc[i - 1] to pc[i],
 * and what lies behind the last one, the handlers and stubs, belongs to the method itself.
 *
 * The same chain of callers comes again and again, so frames are found by (caller, method, bci of the call) and kept
 * once; neighbours that say the same are one entry.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agents/jvmti/agent.h"

#define MAX_PCS 1000000
#define MAX_DEPTH 4096
#define NONE UINT32_MAX

struct local { /* a method in the running callback */
	jmethodID id;
	const struct method *method;
	uint32_t name, file; /* index into names and files; NONE = unknown */
	bool own_file;       /* the same as the compiled method's */
};
struct frame_key {
	uint32_t caller, method; /* method: index into locals */
	int32_t bci;             /* of the call, in the caller */
	uint32_t frame;          /* index */
	uint32_t epoch;          /* the slot is free if this is not the one that runs */
};
struct local_slot {
	uint32_t local, epoch;
};

struct tables {
	struct tables *next; /* in the pool */
	uint32_t epoch;      /* of the callback: spares clearing what a large method left */
	bool broken;         /* memory ended: no tables at all rather than wrong ones */
	const struct method *own;

	struct local *locals;
	uint32_t n_locals, room_locals;
	struct local_slot *local_slots;
	uint32_t n_local_slots;
	struct frame_key *keys;
	uint32_t n_keys;

	struct opagent_line *lines;
	uint32_t n_lines, room_lines;
	struct opagent_inline_range *ranges;
	uint32_t n_ranges, room_ranges;
	struct opagent_frame *frames;
	uint32_t n_frames, room_frames;
	const char **names, **files;
	uint32_t n_names, room_names, n_files, room_files;

	struct { uint32_t local, frame; int32_t bci; } last[64]; /* path of the record before, from outside in */
	uint32_t n_last;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tables *pool;

static struct tables *pool_take(void)
{
	struct tables *t;
	pthread_mutex_lock(&pool_lock);
	t = pool;
	if (t)
		pool = t->next;
	pthread_mutex_unlock(&pool_lock);
	return t ? t : calloc(1, sizeof(*t));
}

void tables_done(struct tables *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&pool_lock);
	t->next = pool;
	pool = t;
	pthread_mutex_unlock(&pool_lock);
}

/* Room for one more in an array; false (and broken) when memory ends. */
static bool room_for(struct tables *t, void *array, uint32_t *room, uint32_t n, size_t size)
{
	void **p = array, *new;
	uint32_t more;

	if (n < *room)
		return true;
	more = *room ? *room * 2 : 64;
	new = realloc(*p, more * size);
	if (!new) {
		t->broken = true;
		return false;
	}
	*p = new;
	*room = more;
	return true;
}
#define ROOM_FOR(t, what) room_for(t, &(t)->what, &(t)->room_##what, (t)->n_##what, sizeof((t)->what[0]))

static uint32_t hash(uint64_t x)
{
	return (uint32_t)(x * 0x9e3779b97f4a7c15ULL >> 32);
}

static bool local_slots_grow(struct tables *t)
{
	uint32_t n = t->n_local_slots ? t->n_local_slots * 2 : 256;
	struct local_slot *new = calloc(n, sizeof(*new));

	if (!new) {
		t->broken = true;
		return false;
	}
	free(t->local_slots);
	t->local_slots = new;
	t->n_local_slots = n;
	for (uint32_t i = 0; i < t->n_locals; i++) {
		uint32_t s = hash((uintptr_t)t->locals[i].id);
		while (new[s & (n - 1)].epoch)
			s++;
		new[s & (n - 1)] = (struct local_slot){ i, t->epoch };
	}
	return true;
}

static uint32_t file_index(struct tables *t, const char *file)
{
	if (!file)
		return NONE;
	for (uint32_t i = 0; i < t->n_files; i++)
		if (t->files[i] == file || !strcmp(t->files[i], file))
			return i;
	if (!ROOM_FOR(t, files))
		return NONE;
	t->files[t->n_files] = file;
	return t->n_files++;
}

/* Index of a method in locals, NONE when memory ends. */
static uint32_t local_of(struct tables *t, jvmtiEnv *ti, jmethodID id)
{
	const struct method *m;
	uint32_t s;

	if (t->n_locals >= t->n_local_slots / 2 && !local_slots_grow(t))
		return NONE;
	for (s = hash((uintptr_t)id);; s++) {
		const struct local_slot *slot = &t->local_slots[s & (t->n_local_slots - 1)];
		if (slot->epoch != t->epoch)
			break;
		if (t->locals[slot->local].id == id)
			return slot->local;
	}
	m = methods_get(ti, id);
	if (!m || !ROOM_FOR(t, locals) || !ROOM_FOR(t, names)) {
		t->broken = true;
		return NONE;
	}
	t->names[t->n_names] = m->name;
	t->locals[t->n_locals] = (struct local){
		id, m, t->n_names++, file_index(t, m->file), m->file && t->own->file && !strcmp(m->file, t->own->file)
	};
	t->local_slots[s & (t->n_local_slots - 1)] = (struct local_slot){ t->n_locals, t->epoch };
	return t->n_locals++;
}

static bool keys_grow(struct tables *t)
{
	uint32_t n = t->n_keys ? t->n_keys * 2 : 256;
	struct frame_key *new = calloc(n, sizeof(*new));

	if (!new) {
		t->broken = true;
		return false;
	}
	for (uint32_t i = 0; i < t->n_keys; i++) {
		struct frame_key *k = &t->keys[i];
		uint32_t s;
		if (k->epoch != t->epoch)
			continue;
		s = hash((uint64_t)k->caller << 32 ^ (uint64_t)k->method << 16 ^ (uint32_t)k->bci);
		while (new[s & (n - 1)].epoch)
			s++;
		new[s & (n - 1)] = *k;
	}
	free(t->keys);
	t->keys = new;
	t->n_keys = n;
	return true;
}

/* The frame of `method` inlined into `caller` (a frame or NONE) where that method stands at bci. */
static uint32_t frame_of(struct tables *t, uint32_t caller, uint32_t caller_local, int32_t bci, uint32_t method)
{
	struct frame_key *k;
	uint32_t s;

	if (t->n_frames >= t->n_keys / 2 && !keys_grow(t))
		return NONE;
	s = hash((uint64_t)caller << 32 ^ (uint64_t)method << 16 ^ (uint32_t)bci);
	for (;; s++) {
		k = &t->keys[s & (t->n_keys - 1)];
		if (k->epoch != t->epoch)
			break;
		if (k->caller == caller && k->method == method && k->bci == bci)
			return k->frame;
	}
	if (!ROOM_FOR(t, frames))
		return NONE;
	t->frames[t->n_frames] = (struct opagent_frame){
		.caller = caller,
		.name = t->locals[method].name,
		.file = t->locals[method].file,
		.call_line = method_line_at(t->locals[caller_local].method, bci),
	};
	*k = (struct frame_key){ caller, method, bci, t->n_frames, t->epoch };
	return t->n_frames++;
}

static void add_line(struct tables *t, uint32_t offset, uint32_t line, uint32_t file)
{
	if (t->n_lines) {
		struct opagent_line *l = &t->lines[t->n_lines - 1];
		if (l->line == line && l->file == file)
			return;
		if (l->offset == offset) {
			l->line = line;
			l->file = file;
			return;
		}
	}
	if (ROOM_FOR(t, lines))
		t->lines[t->n_lines++] = (struct opagent_line){ offset, line, file };
}

static void add_range(struct tables *t, uint32_t offset, uint32_t frame, uint32_t line)
{
	if (t->n_ranges) {
		struct opagent_inline_range *r = &t->ranges[t->n_ranges - 1];
		if (r->frame == frame && r->line == line)
			return;
	}
	if (ROOM_FOR(t, ranges))
		t->ranges[t->n_ranges++] = (struct opagent_inline_range){ offset, frame, line };
}

/* One record: what is at [offset, pc) came through this stack. */
static void add_record(struct tables *t, jvmtiEnv *ti, uint32_t offset, const PCStackInfo *p)
{
	uint32_t frame = NONE, local = NONE, line, depth = 0;
	int32_t bci = 0;
	bool same = true;

	for (jint i = p->numstackframes - 1; i >= 0; i--, depth++) { /* from outside in */
		bool kept = depth < sizeof(t->last) / sizeof(t->last[0]);
		uint32_t callee;

		if (same && kept && depth < t->n_last && t->locals[t->last[depth].local].id == p->methods[i]) {
			callee = t->last[depth].local;
			if (depth)
				frame = t->last[depth].frame;
		} else {
			same = false;
			callee = local_of(t, ti, p->methods[i]);
			if (callee == NONE)
				return;
			if (depth)
				frame = frame_of(t, frame, local, bci, callee);
			if (t->broken)
				return;
		}
		/* What was found for the next one inwards holds only if the call is at the same place. */
		if (same && t->last[depth].bci != p->bcis[i])
			same = false;
		local = callee;
		bci = p->bcis[i];
		if (kept) {
			t->last[depth].local = local;
			t->last[depth].frame = frame;
			t->last[depth].bci = bci;
		}
	}
	t->n_last = depth < sizeof(t->last) / sizeof(t->last[0]) ? depth : sizeof(t->last) / sizeof(t->last[0]);
	/* Without a file's name a line would be taken for one of the method's own file. */
	line = t->locals[local].file == NONE ? 0 : method_line_at(t->locals[local].method, bci);
	add_line(t, offset, line, t->locals[local].own_file ? NONE : t->locals[local].file);
	add_range(t, offset, frame, line);
}

static void tail(struct tables *t, uint64_t addr, uint64_t size, uint64_t from)
{
	if (from - addr >= size)
		return;
	add_line(t, (uint32_t)(from - addr), method_line_at(t->own, -1), NONE);
	if (t->n_ranges)
		add_range(t, (uint32_t)(from - addr), NONE, method_line_at(t->own, -1));
}

static void from_records(struct tables *t, jvmtiEnv *ti, const struct opagent_region *r,
			 const jvmtiCompiledMethodLoadInlineRecord *rec)
{
	uint64_t from = r->addr;

	for (jint i = 0; i < rec->numpcs && !t->broken; i++) {
		const PCStackInfo *p = &rec->pcinfo[i];
		uint64_t pc = (uintptr_t)p->pc;
		if (pc <= from || pc - r->addr > r->code_size || p->numstackframes <= 0 || p->numstackframes > MAX_DEPTH)
			continue;
		add_record(t, ti, (uint32_t)(from - r->addr), p);
		from = pc;
	}
	tail(t, r->addr, r->code_size, from);
}

static void from_map(struct tables *t, const struct opagent_region *r, jint n_map, const jvmtiAddrLocationMap *map)
{
	uint64_t from = r->addr;

	for (jint i = 0; i < n_map && !t->broken; i++) {
		uint64_t pc = (uintptr_t)map[i].start_address;
		if (pc <= from || pc - r->addr > r->code_size)
			continue;
		add_line(t, (uint32_t)(from - r->addr), method_line_at(t->own, (int32_t)map[i].location), NONE);
		from = pc;
	}
	tail(t, r->addr, r->code_size, from);
}

static const jvmtiCompiledMethodLoadInlineRecord *inline_record(const void *compile_info)
{
	const jvmtiCompiledMethodLoadRecordHeader *h = compile_info;

	for (unsigned int i = 0; h && i < 16; i++, h = h->next) {
		const jvmtiCompiledMethodLoadInlineRecord *rec = (const void *)h;
		if (h->kind == JVMTI_CMLR_INLINE_INFO && h->majorinfoversion == JVMTI_CMLR_MAJOR_VERSION_1)
			return rec->numpcs > 0 && rec->numpcs <= MAX_PCS && rec->pcinfo ? rec : NULL;
	}
	return NULL;
}

struct tables *tables_of_load(jvmtiEnv *ti, struct opagent_region *r, const struct method *own, enum lines_mode mode, jint n_map,
			      const jvmtiAddrLocationMap *map, const void *compile_info)
{
	const jvmtiCompiledMethodLoadInlineRecord *rec = mode == LINES_ALL ? inline_record(compile_info) : NULL;
	struct tables *t = mode == LINES_NONE || (!rec && n_map <= 0) ? NULL : pool_take();

	if (!t)
		return NULL;
	t->own = own;
	t->broken = false;
	t->n_lines = t->n_ranges = t->n_frames = t->n_names = t->n_files = t->n_locals = t->n_last = 0;
	if (++t->epoch == 0) { /* once in four milliards */
		memset(t->local_slots, 0, t->n_local_slots * sizeof(*t->local_slots));
		memset(t->keys, 0, t->n_keys * sizeof(*t->keys));
		t->epoch = 1;
	}
	if (rec)
		from_records(t, ti, r, rec);
	else
		from_map(t, r, n_map, map);
	if (t->broken)
		return t;
	r->lines = t->lines;
	r->n_lines = t->n_lines;
	r->names = t->names;
	r->files = t->files;
	r->n_names = t->n_names;
	r->n_files = t->n_files;
	if (t->n_frames) { /* a method without inlined code needs no ranges */
		r->frames = t->frames;
		r->n_frames = t->n_frames;
		r->inlines = t->ranges;
		r->n_inlines = t->n_ranges;
	}
	return t;
}
