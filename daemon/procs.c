/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Life of processes and of JIT sources: fork, exec, exit, naming, and which source belongs to whom. */
#include "daemon/procs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINGER_NS (5 * NSEC_PER_SEC) /* after exit: threads that still run, samples that come late */
#define MAX_STRING_BYTES ((size_t)256 << 20)

uint32_t resolver_string(struct resolver *r, const char *s)
{
	int64_t id;

	if (!s || !*s || r->strings.len > MAX_STRING_BYTES)
		return 0;
	id = strpool_id(&r->strings, s, strnlen(s, EV_MAX_PATH - 1));
	return id < 0 ? 0 : (uint32_t)id;
}

const char *resolver_str(const struct resolver *r, uint32_t id)
{
	return strpool_str(&r->strings, id);
}

/* --- sources ------------------------------------------------------------------------------------------- */

static void unbound_del(struct resolver *r, struct jitsrc *s)
{
	for (size_t i = 0; i < r->n_unbound; i++)
		if (r->unbound[i] == s) {
			r->unbound[i] = r->unbound[--r->n_unbound];
			return;
		}
}

static void jitsrc_free(struct jitsrc *s)
{
	jittl_free(s->tl);
	free(s->pins);
	free(s->instance);
	free(s->hits);
	free(s);
}

static void source_free(struct resolver *r, struct jitsrc *s)
{
	uint64_t hash = util_hash_bytes(s->instance, strlen(s->instance));
	uint64_t *num = u64map_get(&r->instances, hash);

	if (num && *num == s->number)
		u64map_del(&r->instances, hash);
	unbound_del(r, s);
	u64map_del(&r->sources, s->number);
	jitsrc_free(s);
}

static int pin_add(struct jitsrc *s, uint64_t t)
{
	if (s->n_pins == s->pins_room) {
		size_t room = s->pins_room ? s->pins_room * 2 : 4;
		void *p = realloc(s->pins, room * sizeof(*s->pins));

		if (!p)
			return -ENOMEM;
		s->pins = p;
		s->pins_room = room;
	}
	s->pins[s->n_pins++] = t;
	return 0;
}

static void ref_drop(struct resolver *r, struct srcref *ref)
{
	struct jitsrc *s = ref->src;

	for (size_t i = 0; ref->until_ns != UINT64_MAX && i < s->n_pins; i++)
		if (s->pins[i] == ref->until_ns) {
			s->pins[i] = s->pins[--s->n_pins];
			break;
		}
	if (--s->refs == 0)
		source_free(r, s);
}

static void refs_clear(struct resolver *r, struct proc *p)
{
	while (p->n_refs > 0)
		ref_drop(r, &p->refs[--p->n_refs]);
}

static void ref_add(struct resolver *r, struct proc *p, struct jitsrc *s, uint64_t until_ns)
{
	for (uint32_t i = 0; i < p->n_refs; i++)
		if (p->refs[i].src == s)
			return;
	if (p->n_refs == PROC_MAX_REFS || (until_ns != UINT64_MAX && pin_add(s, until_ns) < 0)) {
		r->bad++;
		return;
	}
	if (!s->bound)
		unbound_del(r, s);
	s->bound = true;
	s->refs++;
	p->refs[p->n_refs++] = (struct srcref){ s, until_ns };
}

struct jitsrc *resolver_source(const struct resolver *r, uint32_t number)
{
	uint64_t *v = u64map_get(&r->sources, number);

	return v ? (struct jitsrc *)(uintptr_t)*v : NULL;
}

const char *jitsrc_instance(const struct jitsrc *s) { return s->instance; }
uint32_t jitsrc_number(const struct jitsrc *s) { return s->number; }

int sources_add(struct resolver *r, const struct ev *e)
{
	const char *name = e->u.jitsrc.instance ? e->u.jitsrc.instance : "";
	struct jitsrc *s;
	struct proc *p;
	int ret = -ENOMEM;

	if (resolver_source(r, e->u.jitsrc.source) || u64map_size(&r->sources) >= RESOLVER_MAX_SOURCES || !*name ||
	    strchr(name, '/') || *name == '.') {
		r->bad++;
		return 0;
	}
	if (r->n_unbound == r->unbound_room) {
		size_t room = r->unbound_room ? r->unbound_room * 2 : 8;
		void *v = realloc(r->unbound, room * sizeof(*r->unbound));

		if (!v)
			return -ENOMEM;
		r->unbound = v;
		r->unbound_room = room;
	}
	if (!(s = calloc(1, sizeof(*s))))
		return -ENOMEM;
	*s = (struct jitsrc){
		.number = e->u.jitsrc.source, .kind = e->u.jitsrc.kind, .pid = e->pid, .found_ns = e->time_ns,
		.lag_ns = MIN(e->u.jitsrc.lag_ns, RESOLVER_MAX_LAG_NS), .instance = strndup(name, 255),
	};
	if (!s->instance || jittl_new(&s->tl) < 0 || u64map_put(&r->sources, s->number, (uintptr_t)s) < 0)
		goto fail;
	if (u64map_put(&r->instances, util_hash_bytes(name, strlen(name)), s->number) < 0) {
		u64map_del(&r->sources, s->number);
		goto fail;
	}
	r->unbound[r->n_unbound++] = s;
	r->max_lag_ns = MAX(r->max_lag_ns, s->lag_ns);
	/* Its marker may have gone by already, when the ring could not be opened at once. */
	if ((p = procs_get(r, s->pid)) && !p->exit_ns && p->exec_ns <= s->found_ns && r->now_ns >= s->found_ns)
		ref_add(r, p, s, UINT64_MAX);
	return 0;
fail:
	jittl_free(s->tl);
	free(s->instance);
	free(s);
	return ret;
}

/* "…/<instance>/ring" or "/memfd:opjit:<instance> (deleted)" to the instance. */
static bool marker_instance(const char *path, char *ret, size_t room)
{
	static const char memfd[] = "/memfd:opjit:";
	const char *from, *to;
	size_t len = strlen(path);

	if (!strncmp(path, memfd, sizeof(memfd) - 1)) {
		from = path + sizeof(memfd) - 1;
		to = from + strcspn(from, " ");
	} else {
		const char *slash = memrchr(path, '/', len);

		if (!slash || slash == path)
			return false;
		to = slash;
		for (from = to; from > path && from[-1] != '/'; from--)
			;
		/* The file's own name is the business of the source module; only digits-hex directories count. */
		if (from == to || *from < '0' || *from > '9' || !memchr(from, '-', (size_t)(to - from)))
			return false;
	}
	if ((size_t)(to - from) >= room || to == from)
		return false;
	memcpy(ret, from, (size_t)(to - from));
	ret[to - from] = '\0';
	return true;
}

void sources_marker(struct resolver *r, struct proc *p, const char *path, uint64_t time_ns)
{
	char name[256];
	uint64_t *num;
	struct jitsrc *s;

	if (!marker_instance(path, name, sizeof(name)) || !(num = u64map_get(&r->instances, util_hash_bytes(name, strlen(name)))))
		return;
	s = resolver_source(r, (uint32_t)*num);
	if (s && !strcmp(s->instance, name))
		/* A second process with the same ring in its maps is a fork of the owner, seen late. */
		ref_add(r, p, s, s->bound && s->pid != p->pid ? time_ns : UINT64_MAX);
}

/* Found by looking for a file, or when its agent was attached, some time after the code was there: it serves for what came before, too. */
static bool is_found_late(const struct jitsrc *s)
{
	return s->kind == JIT_SOURCE_JITDUMP || s->kind == JIT_SOURCE_PERFMAP || s->kind == JIT_SOURCE_OPDUMP ||
	       s->kind == JIT_SOURCE_GDB || s->kind == JIT_SOURCE_PYPYLOG || s->kind == JIT_SOURCE_HOTSPOT;
}

/* Bound ahead of the time at which they were found, with an exec between: they are of what runs then. */
static void sources_give_back(struct resolver *r, struct proc *p, uint64_t exec_ns)
{
	for (uint32_t i = 0; i < p->n_refs;) {
		struct jitsrc *s = p->refs[i].src;

		if (!is_found_late(s) || s->found_ns <= exec_ns || s->refs != 1 || r->n_unbound == r->unbound_room) {
			i++;
			continue;
		}
		s->refs = 0;
		s->bound = false;
		r->unbound[r->n_unbound++] = s;
		p->refs[i] = p->refs[--p->n_refs];
	}
}

void sources_bind_pid(struct resolver *r, struct proc *p, uint64_t time_ns)
{
	for (size_t i = 0; i < r->n_unbound;) {
		struct jitsrc *s = r->unbound[i];

		if (s->pid == p->pid && (s->found_ns <= time_ns || is_found_late(s)) && p->n_refs < PROC_MAX_REFS)
			ref_add(r, p, s, UINT64_MAX); /* takes it out of the list */
		else
			i++;
	}
}

void sources_free_all(struct resolver *r)
{
	size_t it = 0;
	uint64_t key, *v;

	while (u64map_next(&r->sources, &it, &key, &v))
		jitsrc_free((struct jitsrc *)(uintptr_t)*v);
	u64map_done(&r->sources);
	u64map_done(&r->instances);
	free(r->unbound);
}

/* --- processes ----------------------------------------------------------------------------------------- */

struct proc *procs_get(const struct resolver *r, int32_t pid)
{
	uint64_t *v = u64map_get(&r->procs, (uint32_t)pid);

	return v ? (struct proc *)(uintptr_t)*v : NULL;
}

static void infos_drop(struct resolver *r, int32_t pid, uint64_t until_ns)
{
	uint64_t *v = u64map_get(&r->infos, (uint32_t)pid);
	struct procinfo *i, **link, *head;

	if (!v)
		return;
	head = (struct procinfo *)(uintptr_t)*v;
	for (link = &head; (i = *link);) {
		if (i->time_ns > until_ns) {
			link = &i->next;
			continue;
		}
		*link = i->next;
		free(i);
	}
	if (head)
		*v = (uintptr_t)head;
	else
		u64map_del(&r->infos, (uint32_t)pid);
}

static void proc_free(struct resolver *r, struct proc *p)
{
	if (r->last == p)
		r->last = NULL;
	refs_clear(r, p);
	maps_drop(p->maps);
	u64map_done(&p->cache);
	free(p);
}

static void procs_drop(struct resolver *r, struct proc *p, uint64_t infos_until_ns)
{
	infos_drop(r, p->pid, infos_until_ns);
	u64map_del(&r->procs, (uint32_t)p->pid);
	proc_free(r, p);
}

struct proc *procs_make(struct resolver *r, int32_t pid, uint64_t time_ns, bool synth)
{
	struct proc *p = procs_get(r, pid);

	if (p)
		return p;
	if (!(p = calloc(1, sizeof(*p))))
		return NULL;
	p->pid = pid;
	p->start_ns = p->exec_ns = p->seen_ns = time_ns;
	p->synth_ns = synth ? time_ns : 0;
	if (u64map_put(&r->procs, (uint32_t)pid, (uintptr_t)p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

int procs_fork(struct resolver *r, int32_t pid, int32_t ppid, uint64_t time_ns)
{
	struct proc *old = procs_get(r, pid), *parent, *p;

	if (old)
		procs_drop(r, old, time_ns > 0 ? time_ns - 1 : 0); /* the number was reused */
	parent = procs_get(r, ppid);
	if (!(p = procs_make(r, pid, time_ns, false)))
		return -ENOMEM;
	if (!parent)
		return 0;
	p->maps = maps_share(parent->maps);
	p->comm = parent->comm;
	p->first_path = parent->first_path;
	proc_exe(r, parent);
	p->exe = parent->exe;
	p->app = parent->app;
	p->has_name = parent->exe || parent->app;
	for (uint32_t i = 0; i < parent->n_refs; i++)
		ref_add(r, p, parent->refs[i].src, MIN(parent->refs[i].until_ns, time_ns));
	return 0;
}

void procs_exec(struct resolver *r, struct proc *p, uint64_t time_ns)
{
	sources_give_back(r, p, time_ns);
	refs_clear(r, p);
	maps_drop(p->maps);
	p->maps = NULL;
	p->execs++;
	p->exec_ns = time_ns;
	p->synth_ns = 0;
	p->exe = p->app = p->first_path = 0;
	p->named = p->has_name = false;
	u64map_done(&p->cache);
}

int procs_exit(struct resolver *r, struct proc *p, uint64_t time_ns)
{
	if (p->exit_ns)
		return 0;
	if (r->n_exited == r->exited_room) {
		size_t room = r->exited_room ? r->exited_room * 2 : 64;
		void *v = realloc(r->exited, room * sizeof(*r->exited));

		if (!v)
			return -ENOMEM;
		r->exited = v;
		r->exited_room = room;
	}
	p->exit_ns = MAX(time_ns, UINT64_C(1));
	r->exited[r->n_exited++] = (struct exited){ p->pid, p->exit_ns };
	return 0;
}

void procs_sweep(struct resolver *r)
{
	while (r->exited_head < r->n_exited && r->exited[r->exited_head].at_ns + LINGER_NS < r->now_ns) {
		struct exited x = r->exited[r->exited_head++];
		struct proc *p = procs_get(r, x.pid);

		if (!p || p->exit_ns != x.at_ns)
			continue; /* reused since */
		if (p->seen_ns + LINGER_NS >= r->now_ns) { /* its main thread ended, others go on */
			p->exit_ns = 0;
			procs_exit(r, p, r->now_ns);
			continue;
		}
		procs_drop(r, p, p->exit_ns);
	}
	if (r->exited_head > 1024 && r->exited_head * 2 > r->n_exited) {
		memmove(r->exited, r->exited + r->exited_head, (r->n_exited - r->exited_head) * sizeof(*r->exited));
		r->n_exited -= r->exited_head;
		r->exited_head = 0;
	}
	for (size_t i = 0; i < r->n_unbound;) { /* nobody has claimed it */
		struct jitsrc *s = r->unbound[i];

		if (s->found_ns + 4 * LINGER_NS < r->now_ns && !procs_get(r, s->pid))
			source_free(r, s);
		else
			i++;
	}
}

int procs_info(struct resolver *r, const struct ev *e)
{
	uint64_t *head = u64map_at(&r->infos, (uint32_t)e->pid);
	struct procinfo *i = head ? calloc(1, sizeof(*i)) : NULL;
	size_t n = 0;

	if (!i)
		return -ENOMEM;
	i->time_ns = e->time_ns;
	i->start_time = e->u.proc.start_time;
	i->exec_count = e->u.proc.exec_count;
	i->exe = resolver_string(r, e->u.proc.exe);
	i->app = resolver_string(r, e->u.proc.app);
	i->next = (struct procinfo *)(uintptr_t)*head;
	*head = (uintptr_t)i;
	for (; i->next; i = i->next)
		if (++n == PROC_MAX_INFOS) { /* forget the oldest */
			struct procinfo *rest = i->next;

			i->next = NULL;
			while (rest) {
				struct procinfo *next = rest->next;

				free(rest);
				rest = next;
			}
			break;
		}
	return 0;
}

/* The description that was read while p ran what it runs: the first one since its exec. */
static const struct procinfo *info_for(const struct resolver *r, const struct proc *p)
{
	uint64_t *v = u64map_get(&r->infos, (uint32_t)p->pid);
	const struct procinfo *best = NULL;

	for (const struct procinfo *i = v ? (const struct procinfo *)(uintptr_t)*v : NULL; i; i = i->next)
		if (i->time_ns >= p->exec_ns)
			best = i; /* newest first, so the last one is the earliest */
	return best;
}

static void proc_name(struct resolver *r, struct proc *p)
{
	const struct procinfo *i = info_for(r, p);

	p->named = true;
	if (i && i->exe) {
		p->exe = i->exe;
		p->app = i->app;
	} else if (!p->has_name) {
		p->exe = p->first_path;
		p->app = i && i->app ? i->app : 0;
	}
	if (!p->app && p->exe) {
		const char *exe = resolver_str(r, p->exe), *slash = strrchr(exe, '/');

		snprintf(r->path, sizeof(r->path), "%s", slash ? slash + 1 : exe);
		p->app = resolver_string(r, r->path);
	}
	if (!p->app)
		p->app = p->comm;
}

const char *proc_exe(const struct resolver *r, struct proc *p)
{
	if (!p->named)
		proc_name((struct resolver *)r, p);
	return resolver_str(r, p->exe);
}

const char *proc_app(const struct resolver *r, struct proc *p)
{
	if (!p->named)
		proc_name((struct resolver *)r, p);
	return resolver_str(r, p->app);
}

bool proc_delivers_late(const struct proc *p)
{
	for (uint32_t i = 0; i < p->n_refs; i++)
		if (p->refs[i].src->kind == JIT_SOURCE_JITDUMP || p->refs[i].src->kind == JIT_SOURCE_OPDUMP)
			return true;
	return false;
}

int32_t proc_pid(const struct proc *p) { return p->pid; }
struct u64map *proc_cache(struct proc *p) { return &p->cache; }

void procs_free_all(struct resolver *r)
{
	size_t it = 0;
	uint64_t key, *v;

	while (u64map_next(&r->procs, &it, &key, &v))
		proc_free(r, (struct proc *)(uintptr_t)*v);
	u64map_done(&r->procs);
	it = 0;
	while (u64map_next(&r->infos, &it, &key, &v)) {
		struct procinfo *i = (struct procinfo *)(uintptr_t)*v, *next;

		for (; i; i = next) {
			next = i->next;
			free(i);
		}
	}
	u64map_done(&r->infos);
	free(r->exited);
}
