/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A collector for the JIT profiling API that came with Intel's tools: a JIT loads the library that INTEL_JIT_PROFILER64 (or 32) names,
 * calls Initialize once and NotifyEvent for each thing that happens. What it says is posted with libopagent.
 *
 * The structs are our own description of the documented layouts. Whatever goes wrong in here stays in here: the JIT gets
 * the answer that all is well.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/map.h"
#include "libopagent/opagent.h"

#define EXPORT __attribute__((visibility("default")))
#define SAMPLING_ON 1
#define MAX_LINES (1u << 20)
#define MAX_INLINES 4096u    /* that wait for their method */
#define NAME_BYTES 65535u

enum jitapi_event {
	EVENT_SHUTDOWN = 2,
	EVENT_LOAD = 13,
	EVENT_UNLOAD = 14,
	EVENT_UPDATE = 15,
	EVENT_INLINE_LOAD = 16,
	EVENT_UPDATE_V2 = 17,
	EVENT_LOAD_V2 = 21,
	EVENT_LOAD_V3 = 22,
};

struct jitapi_line {
	uint32_t end;         /* the line holds from the entry before up to here */
	uint32_t line;
};

struct jitapi_method {        /* version 1 of a load, and what an unload and an update give */
	uint32_t id;
	const char *name;
	void *addr;
	uint32_t size;
	uint32_t n_lines;
	const struct jitapi_line *lines;
	uint32_t class_id;
	const char *class_name;
	const char *source;
};

struct jitapi_method2 {       /* versions 2 and 3, which has the machine behind it */
	uint32_t id;
	const char *name;
	void *addr;
	uint32_t size;
	uint32_t n_lines;
	const struct jitapi_line *lines;
	const char *class_name;
	const char *source;
	const char *module;
};

struct jitapi_inline {        /* told before its method is */
	uint32_t id, parent;
	const char *name;
	void *addr;
	uint32_t size;
	uint32_t n_lines;
	const struct jitapi_line *lines;
	const char *class_name;
	const char *source;
};

struct method {
	uint64_t addr;
	uint32_t size;
	char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opagent *agent;
static struct u64map by_id;   /* method id -> index + 1 in methods; a split method has its last part here */
static struct method *methods;
static size_t n_methods, room;

static bool open_agent(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .source = "jitapi" };

	/* After a fork libopagent begins a new instance by itself; the handle stays good. */
	return agent || opagent_open(&agent, &o) == 0;
}

/* Takes the name over. */
static void keep(uint32_t id, uint64_t addr, uint32_t size, char *name)
{
	uint64_t *at = u64map_at(&by_id, id);

	if (at && !*at && n_methods == room) {
		size_t more = room * 2 + 64;
		struct method *p = realloc(methods, more * sizeof(*p));
		if (p) {
			methods = p;
			room = more;
		}
	}
	if (!at || (!*at && n_methods == room)) {
		free(name);
		return;
	}
	if (*at)
		free(methods[*at - 1].name);
	else
		*at = ++n_methods;
	methods[*at - 1] = (struct method){ addr, size, name };
}

/* An entry of the API holds up to its offset; one of ours from its offset on. */
static struct opagent_line *lines_of(const struct jitapi_line *in, uint32_t n, uint32_t size, uint32_t *ret_n)
{
	struct opagent_line *out;
	uint32_t from = 0, k = 0;

	if (!in || !n || n > MAX_LINES || !(out = calloc(n, sizeof(*out))))
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (from < size)
			out[k++] = (struct opagent_line){ .offset = from, .line = in[i].line, .file = UINT32_MAX };
		if (in[i].end > from)
			from = in[i].end;
		else if (k && in[i].end < from) /* goes back: what it says is not known any more */
			out[k - 1].line = 0;
	}
	*ret_n = k;
	return out;
}

/* "Class.method" as people write it, unless the name has its class already. */
static char *full_name(const char *class_name, const char *name)
{
	size_t nc = class_name ? strnlen(class_name, NAME_BYTES) : 0, n = strnlen(name, NAME_BYTES);
	char *s = malloc(nc + n + 2);

	if (!s)
		return NULL;
	if (!nc || !strncmp(name, class_name, nc))
		nc = 0;
	if (nc) {
		memcpy(s, class_name, nc);
		s[nc++] = '.';
	}
	memcpy(s + nc, name, n);
	s[nc + n] = '\0';
	return s;
}

/* --- inlined methods ------------------------------------------------------------------------------------ */

struct inline_range {
	struct inline_range *next;  /* said before this one */
	uint32_t id, parent;
	uint64_t addr;
	uint32_t size, line;
	char *name, *source;
};

static struct inline_range *waiting;
static unsigned int n_waiting;

static void inline_free(struct inline_range *r)
{
	free(r->name);
	free(r->source);
	free(r);
}

static void keep_inline(const struct jitapi_inline *in)
{
	struct inline_range *r;

	if (!in->name || !in->addr || !in->size || n_waiting == MAX_INLINES || !(r = calloc(1, sizeof(*r))))
		return;
	*r = (struct inline_range){ .id = in->id, .parent = in->parent, .addr = (uintptr_t)in->addr, .size = in->size,
				    .line = in->lines && in->n_lines ? in->lines[0].line : 0,
				    .name = full_name(in->class_name, in->name), .source = in->source ? strdup(in->source) : NULL };
	if (!r->name) {
		inline_free(r);
		return;
	}
	r->next = waiting;
	waiting = r;
	n_waiting++;
}

struct tree {
	const char **names, **files;
	struct opagent_frame *frames;
	struct opagent_inline_range *ranges;
	struct inline_range **said;
	uint32_t n, n_ranges;
};

static uint32_t frame_at(const struct tree *t, uint64_t addr)
{
	uint32_t best = UINT32_MAX;

	/* the smallest that covers it is the innermost */
	for (uint32_t i = 0; i < t->n; i++)
		if (addr - t->said[i]->addr < t->said[i]->size && (best == UINT32_MAX || t->said[i]->size <= t->said[best]->size))
			best = i;
	return best;
}

static int by_offset(const void *a, const void *b)
{
	const struct opagent_inline_range *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void build_ranges(struct tree *t, uint64_t addr, uint32_t size)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		t->ranges[k++].offset = (uint32_t)(t->said[i]->addr - addr);
		t->ranges[k++].offset = (uint32_t)(t->said[i]->addr - addr) + t->said[i]->size;
	}
	qsort(t->ranges, k, sizeof(*t->ranges), by_offset);
	for (uint32_t i = 0; i < k; i++) {
		uint32_t off = t->ranges[i].offset;
		if (off >= size || (t->n_ranges && t->ranges[t->n_ranges - 1].offset == off))
			continue;
		t->ranges[t->n_ranges].offset = off;
		t->ranges[t->n_ranges].frame = frame_at(t, addr + off);
		t->ranges[t->n_ranges].line = t->ranges[t->n_ranges].frame == UINT32_MAX ? 0 : t->said[t->ranges[t->n_ranges].frame]->line;
		t->n_ranges++;
	}
}

static uint32_t line_at(const struct opagent_line *lines, uint32_t n, uint64_t offset)
{
	uint32_t line = 0;

	for (uint32_t i = 0; i < n && lines[i].offset <= offset; i++)
		line = lines[i].line;
	return line;
}

/* What was said to be inlined in [addr, addr + size): its frames, with the outermost nearest to the method. */
static bool tree_build(struct tree *t, uint64_t addr, uint32_t size, const struct opagent_line *lines, uint32_t n_lines)
{
	uint32_t n = 0;

	*t = (struct tree){ 0 };
	for (struct inline_range *r = waiting; r; r = r->next)
		n += r->addr >= addr && r->addr - addr < size && r->size <= size - (r->addr - addr);
	if (!n)
		return false;
	t->names = calloc(n, sizeof(*t->names));
	t->files = calloc(n, sizeof(*t->files));
	t->frames = calloc(n, sizeof(*t->frames));
	t->ranges = calloc(2 * (size_t)n, sizeof(*t->ranges));
	t->said = calloc(n, sizeof(*t->said));
	if (!t->names || !t->files || !t->frames || !t->ranges || !t->said)
		return false;
	for (struct inline_range *r = waiting; r; r = r->next) {
		if (r->addr < addr || r->addr - addr >= size || r->size > size - (r->addr - addr))
			continue;
		t->names[t->n] = r->name;
		t->files[t->n] = r->source ? r->source : "";
		t->said[t->n++] = r;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		t->frames[i] = (struct opagent_frame){ .caller = UINT32_MAX, .name = i, .file = i };
		for (uint32_t k = 0; k < t->n; k++)
			if (k != i && t->said[k]->id == t->said[i]->parent)
				t->frames[i].caller = k;
		if (t->frames[i].caller == UINT32_MAX) /* the call's line is the method's own at that place */
			t->frames[i].call_line = line_at(lines, n_lines, t->said[i]->addr - addr);
	}
	build_ranges(t, addr, size);
	return true;
}

static void tree_free(struct tree *t)
{
	for (uint32_t i = 0; i < t->n; i++) { /* said once, used once */
		for (struct inline_range **at = &waiting; *at; at = &(*at)->next)
			if (*at == t->said[i]) {
				*at = t->said[i]->next;
				inline_free(t->said[i]);
				n_waiting--;
				break;
			}
	}
	free(t->names);
	free(t->files);
	free(t->frames);
	free(t->ranges);
	free(t->said);
}

/* --- events --------------------------------------------------------------------------------------------- */

static void load(const struct jitapi_method2 *m)
{
	struct opagent_region r = { .size = sizeof(r), .addr = (uintptr_t)m->addr, .code_size = m->size, .code = m->addr,
				    .kind = OPAGENT_METHOD, .tier = -1, .source_file = m->source };
	struct opagent_line *lines = NULL;
	char *name;
	struct tree t;

	if (!m->name || !m->addr || !m->size || !open_agent() || !(name = full_name(m->class_name, m->name)))
		return;
	r.name = name;
	lines = lines_of(m->lines, m->n_lines, m->size, &r.n_lines);
	r.lines = lines;
	if (tree_build(&t, r.addr, m->size, lines, r.n_lines)) {
		r.names = t.names;
		r.files = t.files;
		r.n_names = r.n_files = r.n_frames = t.n;
		r.frames = t.frames;
		r.inlines = t.ranges;
		r.n_inlines = t.n_ranges;
	}
	if (opagent_load(agent, &r, NULL) == -EINVAL && t.n) { /* inlining that makes no tree costs the tree alone */
		r.n_names = r.n_files = r.n_frames = r.n_inlines = 0;
		(void)opagent_load(agent, &r, NULL);
	}
	tree_free(&t);
	free(lines);
	keep(m->id, r.addr, m->size, name);
}

static void load_old(const struct jitapi_method *m)
{
	struct jitapi_method2 v2 = { .id = m->id, .name = m->name, .addr = m->addr, .size = m->size, .n_lines = m->n_lines,
				     .lines = m->lines, .class_name = m->class_name, .source = m->source };

	load(&v2);
}

/* An unload names the method by its id; some say the address as well. */
static void unload(const struct jitapi_method *m)
{
	const uint64_t *at = u64map_get(&by_id, m->id);
	uint64_t addr = at && *at ? methods[*at - 1].addr : 0;

	if (!addr || !open_agent())
		return;
	(void)opagent_unload(agent, addr, 0);
	methods[*at - 1].addr = 0; /* said again, it must not hit what lies there then */
}

/* New bytes in a part of code that was told: from now on it is another version, whole, under its old name. */
static void update(const struct jitapi_method *m)
{
	const uint64_t *at = u64map_get(&by_id, m->id);
	struct opagent_region r = { .size = sizeof(r), .kind = OPAGENT_METHOD, .tier = -1 };

	if (!at || !*at || !methods[*at - 1].addr || !open_agent())
		return;
	r.addr = methods[*at - 1].addr;
	r.code = (void *)(uintptr_t)r.addr;
	r.code_size = methods[*at - 1].size;
	r.name = methods[*at - 1].name;
	(void)opagent_load(agent, &r, NULL);
}

static void fork_lock(void) { pthread_mutex_lock(&lock); }
static void fork_unlock(void) { pthread_mutex_unlock(&lock); }

EXPORT int NotifyEvent(int event, void *data);
int NotifyEvent(int event, void *data)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (event == EVENT_SHUTDOWN) {
		opagent_close(agent);
		agent = NULL;
	} else if (data) {
		switch (event) {
		case EVENT_LOAD: load_old(data); break;
		case EVENT_LOAD_V2:
		case EVENT_LOAD_V3: load(data); break;
		case EVENT_INLINE_LOAD: keep_inline(data); break;
		case EVENT_UNLOAD: unload(data); break;
		case EVENT_UPDATE: update(data); break;
		default: break;
		}
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
	return 1;
}

EXPORT int Initialize(void);
int Initialize(void)
{
	static bool once;
	int saved = errno;
	bool good;

	if (!once) {
		once = true;
		pthread_atfork(fork_lock, fork_unlock, fork_unlock);
	}
	pthread_mutex_lock(&lock);
	good = open_agent();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return good ? SAMPLING_ON : 0; /* 0: nobody listens, and the JIT need not speak */
}
