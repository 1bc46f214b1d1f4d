/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "session/gen.h"
#include "session/path.h"

static void entry_done(struct session_entry *e)
{
	free(e->path);
	free(e->strings);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_entries; i++)
		entry_done(&s->entries[i]);
	free(s->entries);
	free(s->by_slot);
	session_info_done(&s->info);
	if (s->fd >= 0)
		close(s->fd);
	strbuf_done(&s->error);
	free(s->name);
	free(s->dir);
	free(s);
}

static void free_ptr(struct session **s)
{
	session_free(*s);
}

const char *session_error(const struct session *s)
{
	return strbuf_str(&s->error);
}

static int say(struct session *s, int r, const char *file, const struct abi_fault *f)
{
	strbuf_reset(&s->error);
	strbuf_addf(&s->error, "%s/samples/%s/%s: ", s->dir, s->name, file);
	if (f && f->rule)
		strbuf_addf(&s->error, "offset 0x%" PRIx64 ": %s", f->at, f->rule);
	else
		strbuf_addstr(&s->error, strerror(-r));
	return r == -ENOENT ? -EBADMSG : r;
}

int session_slurp(struct session *s, const char *location, struct strbuf *ret)
{
	AUTO_CLOSE int fd = io_open_regular(s->fd, location, O_RDONLY);
	int r;

	if (fd < 0)
		return say(s, fd, location, NULL);
	ret->cap = SESSION_READ_MAX;
	r = io_read_all(fd, ret);
	return r < 0 ? say(s, r, location, NULL) : 0;
}

static int read_info(struct session *s)
{
	AUTO_STRBUF text = STRBUF_INIT;
	unsigned int line;
	int r = session_slurp(s, "info", &text);

	if (r < 0)
		return r;
	r = session_info_read(&s->info, strbuf_str(&text), text.len, &line);
	if (r < 0) {
		say(s, r, "info", NULL);
		strbuf_addf(&s->error, " (line %u)", line);
	}
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct session_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int find_event(const struct session *s, char **names, const char *event, uint32_t *ret)
{
	for (size_t k = 0; k < s->info.n_events; k++)
		if (!strcmp(names[k], event)) {
			*ret = (uint32_t)k;
			return 0;
		}
	return -EBADMSG;
}

static int read_entry(struct session *s, const struct ophd *h, char **events, uint32_t slot)
{
	struct session_entry *e = &s->entries[s->n_entries];
	AUTO_STRBUF path = STRBUF_INIT_CAP(SESSION_MAX_PATH);
	const char *event;
	int r = ophd_path(h, slot, &path);

	*e = (struct session_entry){ .slot = slot };
	if (r < 0)
		return r;
	r = session_path_parse(path.buf, &e->file, &event, &e->strings);
	if (r >= 0)
		r = find_event(s, events, event, &e->file.event);
	if (r < 0) {
		say(s, r, "names", NULL);
		strbuf_addf(&s->error, ": entry %" PRIu32 " is not the path of a sample file: ", slot);
		session_escape(&s->error, path.buf, MIN(path.len, (size_t)300), "");
		entry_done(e);
		return r;
	}
	e->path = strbuf_steal(&path);
	s->n_entries++;
	return 0;
}

/* The entries of `names` that are nobody's parent are the sample files. */
static int read_entries(struct session *s, const struct ophd *h, char **events)
{
	AUTO_FREE uint8_t *inner = calloc(h->n, 1);
	size_t n = 0;
	int r;

	if (!inner)
		return -ENOMEM;
	for (uint32_t i = 1; i < h->n; i++)
		if (ophd_used(h, i)) {
			inner[h->parent[i]] = 1;
			n++;
		}
	s->entries = calloc(n + 1, sizeof(*s->entries));
	if (!s->entries)
		return -ENOMEM;
	for (uint32_t i = 1; i < h->n; i++)
		if (ophd_used(h, i) && !inner[i]) {
			r = read_entry(s, h, events, i);
			if (r < 0)
				return r;
		}
	if (s->n_entries)
		qsort(s->entries, s->n_entries, sizeof(*s->entries), by_path);
	s->n_slots = h->n;
	s->by_slot = malloc(h->n * sizeof(*s->by_slot));
	if (!s->by_slot)
		return -ENOMEM;
	memset(s->by_slot, 0xff, h->n * sizeof(*s->by_slot));
	for (size_t i = 0; i < s->n_entries; i++) {
		s->by_slot[s->entries[i].slot] = (uint32_t)i;
		if (i && !strcmp(s->entries[i].path, s->entries[i - 1].path))
			return say(s, -EBADMSG, "names", &(struct abi_fault){ .rule = "twice: two entries are one sample file" });
	}
	return 0;
}

static int read_names(struct session *s)
{
	AUTO_STRBUF bytes = STRBUF_INIT;
	AUTO(ophd_done) struct ophd h = { 0 };
	struct abi_fault fault = { 0 };
	char **events = calloc(s->info.n_events + 1, sizeof(*events));
	int r = events ? session_slurp(s, "names", &bytes) : -ENOMEM;

	if (r >= 0) {
		r = ophd_read(&h, strbuf_str(&bytes), bytes.len, &fault);
		if (r < 0)
			say(s, r, "names", &fault);
	}
	for (size_t k = 0; k < s->info.n_events && r >= 0; k++) {
		struct strbuf name = STRBUF_INIT;
		r = session_info_event_path(&s->info, k, &name);
		events[k] = strbuf_steal(&name);
	}
	if (r >= 0)
		r = read_entries(s, &h, events);
	for (size_t k = 0; events && k < s->info.n_events; k++)
		free(events[k]);
	free(events);
	return r;
}

static bool is_session_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

int session_open_named(struct session **ret, const char *dir, const char *name, char **why)
{
	AUTO(free_ptr) struct session *s = calloc(1, sizeof(*s));
	AUTO_STRBUF path = STRBUF_INIT;
	AUTO_CLOSE int samples = -1;
	int r;

	*why = NULL;
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->error.cap = SESSION_MAX_PATH;
	s->dir = strdup(dir);
	s->name = strdup(name);
	if (!s->dir || !s->name || strbuf_addf(&path, "%s/samples", dir) < 0)
		return -ENOMEM;
	samples = open(path.buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = samples < 0 ? -errno : is_session_name(name) ? gen_open(samples, name) : -EINVAL;
	if (r < 0) {
		strbuf_addf(&s->error, "%s: no session there (%s/%s: %s)", dir, path.buf, name, strerror(-r));
		*why = strbuf_steal(&s->error);
		return r;
	}
	s->fd = r;
	r = read_info(s);
	if (r >= 0)
		r = read_names(s);
	if (r < 0) {
		if (!s->error.len)
			strbuf_addf(&s->error, "%s: %s", dir, strerror(-r));
		*why = strbuf_steal(&s->error);
		return r;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

int session_open(struct session **ret, const char *dir, char **why)
{
	return session_open_named(ret, dir, "current", why);
}

const char *session_dir(const struct session *s) { return s->dir; }
size_t session_n_events(const struct session *s) { return s->info.n_events; }
const struct session_event *session_event(const struct session *s, size_t i) { return &s->info.events[i]; }
const char *session_cpu_type(const struct session *s) { return s->info.cpu_type ? s->info.cpu_type : ""; }
double session_mhz(const struct session *s) { return s->info.mhz; }
const struct session_totals *session_totals(const struct session *s) { return &s->info.totals; }
const char *session_note(const struct session *s, const char *key) { return session_info_get(&s->info, key); }
size_t session_n_files(const struct session *s) { return s->n_entries; }
const struct session_file *session_file(const struct session *s, size_t i) { return &s->entries[i].file; }

int session_index_of(const struct session *s, const char *path, size_t *ret)
{
	struct session_entry key = { .path = (char *)path }, *e;

	e = s->n_entries ? bsearch(&key, s->entries, s->n_entries, sizeof(*s->entries), by_path) : NULL;
	if (!e)
		return -ENOENT;
	*ret = (size_t)(e - s->entries);
	return 0;
}

int session_file_each(struct session *s, size_t i, session_count_fn *fn, void *arg)
{
	AUTO_STRBUF bytes = STRBUF_INIT, where = STRBUF_INIT;
	struct abi_fault fault = { 0 };
	struct opdb db;
	int r = session_path_location(&where, s->entries[i].path, s->entries[i].slot);

	if (r >= 0)
		r = session_slurp(s, where.buf, &bytes);
	if (r < 0)
		return r;
	r = opdb_read(&db, strbuf_str(&bytes), bytes.len, &fault);
	if (r >= 0)
		r = opdb_each(&db, fn, arg, &fault);
	return r < 0 && fault.rule ? say(s, r, where.buf, &fault) : r;
}

/* --- call stacks --------------------------------------------------------------------------------------- */
/* A frame is the component "SLOT:KEY": entry of `names` in decimal, key in hexadecimal. */
static int parse_frame(const struct session *s, const char *name, size_t *file, uint64_t *key)
{
	const char *colon = strchr(name, ':');
	char text[24];
	uint64_t slot;

	if (!colon || (size_t)(colon - name) >= sizeof(text))
		return -EBADMSG;
	memcpy(text, name, (size_t)(colon - name));
	text[colon - name] = '\0';
	if (!s->n_slots || util_parse_u64(text, 10, s->n_slots - 1, &slot) < 0 || s->by_slot[slot] == UINT32_MAX ||
	    util_parse_u64(colon + 1, 16, UINT64_MAX, key) < 0)
		return -EBADMSG;
	*file = s->by_slot[slot];
	return 0;
}

struct counts {
	uint64_t *of;         /* slot of stacks -> count */
	uint32_t n;
	const struct ophd *h;
};

static int take_count(void *arg, uint64_t key, uint64_t value)
{
	struct counts *c = arg;

	if (!key || key >= c->n || !ophd_used(c->h, (uint32_t)key))
		return -EBADMSG;
	c->of[key] = value;
	return 0;
}

struct stacks {
	struct strbuf tree_bytes, db_bytes;
	struct ophd h;
	struct counts counts;
	size_t *files;
	uint64_t *keys;
};

static void stacks_done(struct stacks *t)
{
	strbuf_done(&t->tree_bytes);
	strbuf_done(&t->db_bytes);
	ophd_done(&t->h);
	free(t->counts.of);
	free(t->files);
	free(t->keys);
}

static int stacks_read(struct session *s, struct stacks *t)
{
	struct abi_fault fault = { 0 };
	struct opdb db;
	int r;

	if ((r = session_slurp(s, "stacks", &t->tree_bytes)) < 0 || (r = session_slurp(s, "stacks.db", &t->db_bytes)) < 0)
		return r;
	r = ophd_read(&t->h, strbuf_str(&t->tree_bytes), t->tree_bytes.len, &fault);
	if (r < 0)
		return say(s, r, "stacks", &fault);
	t->counts = (struct counts){ .of = calloc(t->h.n, sizeof(uint64_t)), .n = t->h.n, .h = &t->h };
	t->files = calloc(t->h.n, sizeof(*t->files));
	t->keys = calloc(t->h.n, sizeof(*t->keys));
	if (!t->counts.of || !t->files || !t->keys)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->h.n; i++)
		if (ophd_used(&t->h, i) && parse_frame(s, ophd_name(&t->h, i), &t->files[i], &t->keys[i]) < 0)
			return say(s, -EBADMSG, "stacks", &(struct abi_fault){ .rule = "frame: an entry is not SLOT:KEY of a sample file" });
	r = opdb_read(&db, strbuf_str(&t->db_bytes), t->db_bytes.len, &fault);
	if (r >= 0)
		r = opdb_each(&db, take_count, &t->counts, &fault);
	return r < 0 ? say(s, r, "stacks.db", fault.rule ? &fault :
			   &(struct abi_fault){ .rule = "node: a key is no entry of stacks" }) : 0;
}

int session_stacks_each(struct session *s, session_stack_fn *fn, void *arg)
{
	AUTO(stacks_done) struct stacks t = { .tree_bytes = STRBUF_INIT, .db_bytes = STRBUF_INIT };
	AUTO_FREE struct session_frame *frames = NULL;
	int r = s->info.stacks ? stacks_read(s, &t) : 0;

	if (r < 0 || !s->info.stacks)
		return r;
	frames = malloc(SESSION_MAX_FRAMES * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 1; i < t.h.n; i++) {
		size_t n = 0;
		if (!t.counts.of[i])
			continue;
		for (uint32_t j = i; j && n < SESSION_MAX_FRAMES; j = t.h.parent[j])
			frames[n++] = (struct session_frame){ .file = (uint32_t)t.files[j], .key = t.keys[j] };
		r = fn(arg, frames, n, t.counts.of[i]);
		if (r)
			return r;
	}
	return 0;
}

/* Parents first, by a walk from each entry up to the first that was given already. */
int session_nodes_each(struct session *s, session_node_fn *fn, void *arg)
{
	AUTO(stacks_done) struct stacks t = { .tree_bytes = STRBUF_INIT, .db_bytes = STRBUF_INIT };
	AUTO_FREE uint8_t *given = NULL;
	AUTO_FREE uint32_t *path = NULL;
	int r = s->info.stacks ? stacks_read(s, &t) : 0;

	if (r < 0 || !s->info.stacks)
		return r;
	given = calloc(t.h.n, 1);
	path = malloc(t.h.n * sizeof(*path));
	if (!given || !path)
		return -ENOMEM;
	given[0] = 1;
	for (uint32_t i = 1; i < t.h.n; i++) {
		size_t n = 0;
		if (!ophd_used(&t.h, i))
			continue;
		for (uint32_t j = i; !given[j]; j = t.h.parent[j])
			path[n++] = j;
		while (n-- > 0) {
			uint32_t j = path[n];
			given[j] = 1;
			r = fn(arg, j, t.h.parent[j], t.files[j], t.keys[j], t.counts.of[j]);
			if (r)
				return r;
		}
	}
	return 0;
}
