/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/procs.h"

#define KERNEL_HALF (UINT64_C(1) << 63)
#define VSYSCALL UINT64_C(0xffffffffff600000)

/* hit.cache: what kind of image in the top byte (its three low bits), which one below */
enum { CACHE_FILE = 1, CACHE_KERNEL, CACHE_JIT, CACHE_RANGE, CACHE_GAP, CACHE_OTHER };
#define CACHE(kind, what) ((uint64_t)(kind) << 56 | ((what) & ((UINT64_C(1) << 56) - 1)))
#define CACHE_OF_RANGE(kind, start, end) CACHE(kind, util_hash_u64((start) ^ util_hash_u64(end)))

int resolver_new(struct resolver **ret)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	if (strpool_id(&r->strings, "", 0) != 0) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	procs_free_all(r);
	sources_free_all(r);
	maps_drop(r->kernel);
	maps_drop(r->bpf);
	strpool_done(&r->strings);
	free(r);
}

void resolver_stats(const struct resolver *r, struct resolver_stats *ret)
{
	size_t it = 0;
	uint64_t key, *v;

	*ret = (struct resolver_stats){
		.n_procs = u64map_size(&r->procs), .n_sources = u64map_size(&r->sources),
		.bad_events = r->bad, .max_lag_ns = r->max_lag_ns,
	};
	while (u64map_next(&r->sources, &it, &key, &v)) {
		struct jittl_stats st;

		jittl_stats(((struct jitsrc *)(uintptr_t)*v)->tl, &st);
		ret->n_regions += st.n_regions;
		ret->region_bytes += st.bytes;
	}
}

/* --- events -------------------------------------------------------------------------------------------- */

/* "[kernel.kallsyms]_text" → vmlinux, "/lib/modules/…/foo.ko.xz" and "[foo]" → foo. */
static uint32_t kernel_name(struct resolver *r, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len;

	if (!strncmp(base, "[kernel", 7) || !strncmp(base, "[guest.kernel", 13) || !strncmp(base, "vmlinux", 7))
		return resolver_string(r, "vmlinux");
	base += *base == '[';
	len = strcspn(base, "]");
	if (strstr(base, ".ko"))
		len = MIN(len, (size_t)(strstr(base, ".ko") - base));
	snprintf(r->path, sizeof(r->path), "%.*s", (int)MIN(len, (size_t)255), base);
	return resolver_string(r, r->path);
}

static int kernel_map(struct resolver *r, struct maps **maps, uint64_t addr, uint64_t len, uint32_t name)
{
	struct map m = { .start = addr, .path = name, .kind = MAP_KIND_SPECIAL };
	int ret;

	if (!util_add_u64(addr, len, &m.end))
		m.end = UINT64_MAX;
	ret = maps_add(maps, &m);
	if (ret == -ENOMEM)
		return ret;
	r->bad += ret < 0;
	return 0;
}

static int event_mmap(struct resolver *r, const struct ev *e)
{
	struct map m = { .start = e->u.mmap.addr, .pgoff = e->u.mmap.pgoff, .since_ns = e->time_ns };
	const char *path = e->u.mmap.path ? e->u.mmap.path : "";
	struct proc *p;
	int ret;

	if (e->pid == -1) {
		uint32_t name = kernel_name(r, path);

		if (!strcmp(resolver_str(r, name), "vmlinux"))
			r->vmlinux_base = e->u.mmap.addr;
		return kernel_map(r, &r->kernel, e->u.mmap.addr, e->u.mmap.len, name);
	}
	if (!(p = procs_make(r, e->pid, e->time_ns, true)))
		return -ENOMEM;
	m.kind = (uint8_t)map_kind_of(path);
	m.path = resolver_string(r, path);
	if (p->synth_ns && p->synth_ns == e->time_ns)
		m.since_ns = 0; /* stood there before we came: code in it may be older than our sight of it */
	if (!util_add_u64(m.start, e->u.mmap.len, &m.end)) {
		r->bad++;
		return 0;
	}
	if ((ret = maps_add(&p->maps, &m)) == -ENOMEM)
		return ret;
	r->bad += ret < 0;
	if (m.kind == MAP_KIND_FILE && !p->first_path)
		p->first_path = m.path;
	sources_marker(r, p, path, e->time_ns);
	return 0;
}

static int event_munmap(struct resolver *r, const struct ev *e)
{
	struct proc *p = procs_get(r, e->pid);
	uint64_t end;
	int ret;

	if (!p)
		return 0;
	if (!util_add_u64(e->u.mmap.addr, e->u.mmap.len, &end))
		end = UINT64_MAX;
	if ((ret = maps_del(&p->maps, e->u.mmap.addr, end)) == -ENOMEM)
		return ret;
	r->bad += ret < 0;
	return 0;
}

static int event_comm(struct resolver *r, const struct ev *e)
{
	struct proc *p = procs_make(r, e->pid, e->time_ns, !(e->u.comm.flags & EV_COMM_EXEC));

	if (!p)
		return -ENOMEM;
	if (e->u.comm.flags & EV_COMM_EXEC)
		procs_exec(r, p, e->time_ns);
	if (e->pid == e->tid)
		p->comm = resolver_string(r, e->u.comm.comm);
	return 0;
}

int resolver_event(struct resolver *r, const struct ev *e)
{
	struct proc *p;

	if (e->time_ns > r->now_ns)
		r->now_ns = e->time_ns;
	switch (e->type) {
	case EV_MMAP:
		return event_mmap(r, e);
	case EV_MUNMAP:
		return event_munmap(r, e);
	case EV_COMM:
		return event_comm(r, e);
	case EV_FORK:
		if (e->pid == e->u.fork.ppid || e->pid <= 0)
			return 0; /* a thread */
		return procs_fork(r, e->pid, e->u.fork.ppid, e->time_ns);
	case EV_EXIT:
		p = e->pid == e->tid ? procs_get(r, e->pid) : NULL;
		if (p && procs_exit(r, p, e->time_ns) < 0)
			return -ENOMEM;
		procs_sweep(r);
		return 0;
	case EV_KSYMBOL:
		if (!e->u.ksymbol.unregister)
			return kernel_map(r, &r->bpf, e->u.ksymbol.addr, e->u.ksymbol.len,
					  resolver_string(r, e->u.ksymbol.name));
		if (e->u.ksymbol.len && e->u.ksymbol.addr + e->u.ksymbol.len > e->u.ksymbol.addr)
			return maps_del(&r->bpf, e->u.ksymbol.addr, e->u.ksymbol.addr + e->u.ksymbol.len) == -ENOMEM ?
			       -ENOMEM : 0;
		return 0;
	default:
		return 0;
	}
}

int resolver_early(struct resolver *r, const struct ev *e)
{
	struct jitsrc *s;
	int ret;

	switch (e->type) {
	case EV_PROC:
		return procs_info(r, e);
	case EV_JITSRC:
		return sources_add(r, e);
	case EV_JIT:
		s = resolver_source(r, e->u.jit.source);
		if (!s) { /* of a process that is gone, or forged */
			r->bad++;
			return 0;
		}
		if ((ret = jittl_event(s->tl, &e->u.jit.e)) == -ENOMEM)
			return ret;
		r->bad += ret < 0;
		if (jittl_wants_prune(s->tl))
			jittl_prune(s->tl, r->now_ns, s->pins, s->n_pins);
		return 0;
	default:
		return 0;
	}
}

struct proc *resolver_proc(struct resolver *r, int32_t pid, uint64_t time_ns)
{
	struct proc *p = r->last;

	if (!p || p->pid != pid) {
		p = procs_make(r, pid, time_ns, true);
		r->last = p;
	}
	if (p)
		p->seen_ns = time_ns;
	return p;
}

/* --- the rules, in their order ------------------------------------------------------------------------- */

static void hit_range(struct hit *h, enum hit_class class, const char *name, uint64_t start, uint64_t end, uint64_t ip, uint64_t cache)
{
	h->class = class;
	h->image = HIT_RANGE;
	h->name = name;
	h->start = start;
	h->end = end;
	h->key = ip - start;
	h->cache = cache;
}

static void find_kernel(const struct resolver *r, uint64_t ip, struct hit *h)
{
	const struct map *m = maps_find(r->bpf, ip);

	h->class = HIT_KERNEL;
	h->image = HIT_KERNEL_IMAGE;
	if (!m)
		m = maps_find(r->kernel, ip);
	if (m) {
		h->name = resolver_str(r, m->path);
		h->key = ip - m->start + m->pgoff;
		h->cache = CACHE(CACHE_KERNEL, m->path);
		return;
	}
	h->name = "vmlinux";
	h->key = ip - r->vmlinux_base;
	h->cache = CACHE(CACHE_OTHER, 1);
}

/* A perf map may have millions of lines: those with samples are all that is kept of it in the session. */
static void note_hit(struct jitsrc *s, uint32_t id)
{
	if (id / 8 >= s->hits_bytes) {
		size_t room = MAX((size_t)id / 8 + 1, s->hits_bytes * 2);
		uint8_t *more = s->hits_lost ? NULL : realloc(s->hits, room);

		if (!more) {
			s->hits_lost = true;
			return;
		}
		memset(more + s->hits_bytes, 0, room - s->hits_bytes);
		s->hits = more;
		s->hits_bytes = room;
	}
	s->hits[id / 8] |= (uint8_t)(1u << id % 8);
}

bool resolver_was_hit(struct resolver *r, uint32_t source, uint64_t id)
{
	const struct jitsrc *s = resolver_source(r, source);

	return !s || s->kind != JIT_SOURCE_PERFMAP || s->hits_lost || (id / 8 < s->hits_bytes && s->hits[id / 8] & 1u << id % 8);
}

static void hit_jit(struct hit *h, struct jitsrc *s, const struct jittl_region *g, uint64_t ip, enum hit_quality q)
{
	h->class = g->kind == JIT_METHOD ? HIT_JIT_METHOD : g->kind == JIT_INTERPRETER ? HIT_JIT_INTERPRETER : HIT_JIT_STUB;
	h->quality = q;
	h->image = HIT_JIT;
	h->source = s;
	h->segment = g->segment;
	h->region_id = g->id;
	if (s->kind == JIT_SOURCE_PERFMAP)
		note_hit(s, g->id);
	h->key = g->image_offset + (ip - g->addr);
	h->cache = CACHE(CACHE_JIT, (uint64_t)s->number << 24 | g->segment);
}

struct jit_found {
	struct jitsrc *live_src, *next_src;
	struct jittl_region live, live_found, next;
	enum hit_quality live_quality;
};

/* One that tells when its code came to life stands before one that does not (a perf map beside an agent). */
static bool newer(const struct jittl_region *a, const struct jittl_region *b)
{
	return a->since_unknown != b->since_unknown ? b->since_unknown : a->load_ns > b->load_ns;
}

static bool tells_no_end(const struct jitsrc *s)
{
	return s->kind == JIT_SOURCE_JITDUMP;
}

/* Whether a region of a further source is taken: it is newer, or tells the same and the end, too. */
static bool stands_before(const struct jit_found *f, const struct jittl_region *g, bool ambiguous)
{
	if (!f->live_src || newer(g, &f->live_found))
		return true;
	return !newer(&f->live_found, g) && !ambiguous && f->live_quality == HIT_AMBIGUOUS;
}

/* A region of a source is live: is it the answer, or the next one at its address? */
static void take_live(struct jit_found *f, struct jitsrc *src, const struct jittl_find *at, bool in_lag)
{
	bool told = at->has_next && !at->next.since_unknown, overwritten = at->overwritten && in_lag && told;
	/* The end was told late: what is told next was there, unless it came much later, into a room that was free again. */
	bool taken = at->doubtful && told &&
		     (at->next.load_ns <= at->live.unload_ns || at->next.load_ns - at->live.unload_ns <= src->lag_ns);

	if (!stands_before(f, &at->live, overwritten || at->doubtful))
		return;
	f->live_src = src;
	f->live_found = at->live;
	/* Sources that never tell an end stamp at the change, as a rule: there the older is the better guess. */
	f->live = taken || (overwritten && !tells_no_end(src)) ? at->next : at->live;
	f->live_quality = overwritten || at->doubtful ? HIT_AMBIGUOUS : HIT_EXACT;
}

/* Over all sources of the process: the newest of those live, else the first to come within its lag. */
static void find_jit(const struct proc *p, uint64_t time_ns, uint64_t ip, struct jit_found *f)
{
	struct jittl_find at;

	f->live_src = f->next_src = NULL;
	for (uint32_t i = 0; i < p->n_refs; i++) {
		const struct srcref *ref = &p->refs[i];
		uint64_t t = MIN(time_ns, ref->until_ns);
		bool in_lag;

		if (!jittl_covers(ref->src->tl, ip))
			continue;
		jittl_find(ref->src->tl, ip, t, &at);
		in_lag = at.has_next && at.next.load_ns - t <= ref->src->lag_ns;
		if (at.has_live)
			take_live(f, ref->src, &at, in_lag);
		if (!at.has_live && at.has_next && (in_lag || at.next.since_unknown) &&
		    (!f->next_src || at.next.load_ns < f->next.load_ns)) {
			f->next_src = ref->src;
			f->next = at.next;
		}
	}
}

static const struct jittl_heap *find_heap(const struct proc *p, uint64_t ip)
{
	for (uint32_t i = 0; i < p->n_refs; i++) {
		const struct jittl_heap *h = jittl_heap(p->refs[i].src->tl, ip);

		if (h)
			return h;
	}
	return NULL;
}

static void find_file(const struct resolver *r, const struct map *m, uint64_t ip, struct hit *h)
{
	h->class = HIT_NATIVE;
	h->image = HIT_FILE;
	h->name = resolver_str(r, m->path);
	h->key = ip - m->start + m->pgoff;
	h->cache = CACHE(CACHE_FILE, m->path);
}

/* A deleted file or one in /dev/shm has a name, after all, when no JIT region was found in it. */
static bool has_file(const struct resolver *r, const struct map *m)
{
	const char *path = resolver_str(r, m->path);

	return path[0] == '/' && strncmp(path, "/memfd:", 7) && strncmp(path, "/SYSV", 5) && strncmp(path, "/dev/zero", 9) &&
	       strncmp(path, "/anon_hugepage", 14);
}

/* Does the code of a JIT that lives there at the time go before the map? Before a file only when it is younger. */
static bool jit_goes_first(const struct jit_found *f, const struct map *m)
{
	if (!f->live_src)
		return false;
	return !m || (m->kind != MAP_KIND_FILE && m->kind != MAP_KIND_SPECIAL) || f->live.load_ns >= m->since_ns;
}

/* Where nothing is known but, at most, the range. */
static void find_range(const struct resolver *r, struct proc *p, const struct map *m, uint64_t ip, struct hit *h)
{
	const struct jittl_heap *heap = p->n_refs ? find_heap(p, ip) : NULL;

	if (heap)
		hit_range(h, HIT_GAP, "[gap]", heap->start, heap->end, ip, CACHE_OF_RANGE(CACHE_GAP, heap->start, heap->end));
	else if (m)
		hit_range(h, HIT_ANON, map_anon_name(resolver_str(r, m->path)), m->start, m->end, ip, CACHE_OF_RANGE(CACHE_RANGE, m->start, m->end));
	else if (ip >= VSYSCALL && ip < VSYSCALL + 4096)
		hit_range(h, HIT_NATIVE, "[vsyscall]", VSYSCALL, VSYSCALL + 4096, ip, CACHE(CACHE_OTHER, 2));
	else
		hit_range(h, HIT_UNKNOWN, "unknown", 0, UINT64_MAX, ip, CACHE(CACHE_OTHER, 3));
}

static void find_user(struct resolver *r, struct proc *p, uint64_t time_ns, uint64_t ip, struct hit *h)
{
	const struct map *m = maps_find(p->maps, ip);
	struct jit_found f = { 0 };

	if (r->n_unbound)
		sources_bind_pid(r, p, time_ns);
	if (p->n_refs)
		find_jit(p, time_ns, ip, &f);
	if (jit_goes_first(&f, m)) {
		hit_jit(h, f.live_src, &f.live, ip, f.live_quality);
		return;
	}
	if (m && m->kind == MAP_KIND_FILE) {
		find_file(r, m, ip, h);
		return;
	}
	if (m && m->kind == MAP_KIND_SPECIAL) {
		hit_range(h, HIT_NATIVE, resolver_str(r, m->path), m->start, m->end, ip, CACHE_OF_RANGE(CACHE_RANGE, m->start, m->end));
		return;
	}
	if (f.next_src) {
		hit_jit(h, f.next_src, &f.next, ip, HIT_BACKDATED);
		return;
	}
	if (m && m->kind == MAP_KIND_JIT && has_file(r, m)) {
		find_file(r, m, ip, h);
		return;
	}
	find_range(r, p, m, ip, h);
}

void resolver_find(struct resolver *r, struct proc *p, uint64_t time_ns, uint64_t ip, enum ev_cpumode mode, struct hit *ret)
{
	ret->quality = HIT_PLAIN;
	ret->source = NULL;
	ret->segment = 0;
	ret->start = ret->end = 0;
	ret->region_id = 0;
	if (mode == EV_KERNEL || mode == EV_HYPERVISOR || (mode != EV_USER && ip >= KERNEL_HALF))
		find_kernel(r, ip, ret);
	else
		find_user(r, p, time_ns, ip, ret);
}

/* The processes of samples in user code, NULL for others. */
static void prefetch_procs(const struct resolver *r, const struct resolver_ask *asks, size_t n, const struct proc **procs)
{
	for (size_t i = 0; i < n; i++) {
		const struct proc *last = i ? procs[i - 1] : NULL;

		procs[i] = NULL;
		if (asks[i].mode != EV_USER || asks[i].ip >= KERNEL_HALF)
			continue;
		procs[i] = last && last->pid == asks[i].pid ? last : procs_get(r, asks[i].pid);
		if (!procs[i] || procs[i] == last)
			continue;
		__builtin_prefetch(procs[i]);
		__builtin_prefetch(&procs[i]->refs[0]);
		__builtin_prefetch(&procs[i]->n_refs);
		__builtin_prefetch(&procs[i]->cache);
	}
	for (size_t i = 0; i < n; i++) {
		if (!procs[i])
			continue;
		__builtin_prefetch(procs[i]->maps);
		__builtin_prefetch(procs[i]->cache.slots);
		if (procs[i]->n_refs)
			__builtin_prefetch(procs[i]->refs[0].src);
	}
}

void resolver_prefetch(const struct resolver *r, const struct resolver_ask *asks, size_t n)
{
	const struct proc *procs[RESOLVER_MAX_ASK];
	const struct jittl *timelines[RESOLVER_MAX_ASK];

	n = MIN(n, (size_t)RESOLVER_MAX_ASK);
	prefetch_procs(r, asks, n, procs);
	for (size_t i = 0; i < n; i++) {
		timelines[i] = procs[i] && procs[i]->n_refs ? procs[i]->refs[0].src->tl : NULL;
		if (procs[i])
			maps_prefetch(procs[i]->maps);
	}
	for (unsigned int step = 0; step < JITTL_STEPS; step++)
		for (size_t i = 0; i < n; i++)
			if (timelines[i] && (step > 1 || !i || timelines[i] != timelines[i - 1]))
				jittl_prefetch(timelines[i], asks[i].ip, step);
}

int resolver_each_kernel(const struct resolver *r, resolver_kernel_fn *fn, void *arg)
{
	for (size_t i = 0; i < maps_count(r->kernel); i++) {
		const struct map *m = maps_at(r->kernel, i);
		int ret = fn(arg, resolver_str(r, m->path), m->start - m->pgoff, m->end);

		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < maps_count(r->bpf); i++) {
		const struct map *m = maps_at(r->bpf, i);
		int ret = fn(arg, resolver_str(r, m->path), m->start - m->pgoff, m->end);

		if (ret < 0)
			return ret;
	}
	return 0;
}
