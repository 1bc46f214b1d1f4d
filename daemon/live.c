/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/found.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "session/session.h"

#define MAX_SOURCES 8192
#define RETRIES 20
#define AFTER_EXIT_NS (RESOLVER_MAX_LAG_NS + NSEC_PER_SEC) /* until all samples of a process have been resolved */

struct live_source {
	struct jit_source *s;       /* NULL once it was given up or its images are all saved */
	uint32_t number;
	int32_t pid;
	char instance[64];
	uint64_t exit_ns;
	bool damage_said;
	bool saved;                 /* its images are of this run */
	bool whole;                 /* samples of a run before this one are beside them in the session: all names are kept */
};

struct retry { /* a ring that was not ready */
	int32_t pid;
	unsigned int tries;
	uint64_t dev, ino, time_ns;
	char *path;
};

struct live {
	struct live_opts o;
	char *session_dir, *registry;
	struct live_source *sources;
	size_t n_sources, room;
	uint32_t next_number;
	struct found *found;        /* jitdumps and perf maps */
	struct retry *retries;
	size_t n_retries, retries_room;
	uint64_t cpu_sync_ns;       /* of this drain */
	uint64_t front_ns;          /* last stamp of the front's stream */
	uint64_t swept_ns;
	bool starting;
	struct live_source *reading; /* during a poll */
	int error;
	struct live_stats st;
};

static int on_found(void *arg, struct jit_source *js, int32_t pid, uint64_t time_ns, const char *path);
static void on_refused(void *arg, int32_t pid, const char *why);

int live_new(struct live **ret, const struct live_opts *o)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->o = *o;
	l->session_dir = strdup(o->session_dir);
	l->registry = o->registry ? strdup(o->registry) : NULL;
	if (!l->session_dir || (o->registry && !l->registry) || found_new(&l->found, o->proc_root, on_found, on_refused, l) < 0) {
		live_free(l);
		return -ENOMEM;
	}
	found_remove_maps_of(l->found, o->remove_maps_of);
	*ret = l;
	return 0;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_sources; i++)
		jit_source_free(l->sources[i].s);
	found_free(l->found);
	for (size_t i = 0; i < l->n_retries; i++)
		free(l->retries[i].path);
	free(l->retries);
	free(l->sources);
	free(l->session_dir);
	free(l->registry);
	free(l);
}

/* --- JIT sources --------------------------------------------------------------------------------------- */

static const char *proc_root(const struct live *l)
{
	return l->o.proc_root ? l->o.proc_root : "/proc";
}

/* Who a process is run by: its ring must belong to them. */
static uint32_t owner_of(const struct live *l, int32_t pid, const char *path)
{
	char dir[128];
	struct stat st;

	snprintf(dir, sizeof(dir), "%s/%d", proc_root(l), pid);
	if (stat(dir, &st) == 0)
		return st.st_uid;
	/* Gone: device and inode in the kernel's record still say that it is the file it had mapped. */
	return lstat(path, &st) == 0 ? st.st_uid : (uint32_t)geteuid();
}

static void registry_add(const struct live *l, const struct jit_source_info *i, const char *path)
{
	AUTO_CLOSE int fd = l->registry ? open(l->registry, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	AUTO_STRBUF sb = STRBUF_INIT_CAP(8192);

	if (fd < 0)
		return;
	strbuf_addf(&sb, "%s %d %" PRIu64 " %s\n", i->instance, i->pid, i->start_time, path);
	if (!sb.error)
		(void)io_write_full(fd, sb.buf, sb.len); /* one write, so lines stay whole */
}

static int event_out(struct live *l, struct ev *e)
{
	e->cpu = UINT32_MAX;
	e->time_ns = l->front_ns = MAX(e->time_ns, l->front_ns);
	return pipeline_event(l->o.pipeline, e);
}

static int jit_event_out(void *arg, const struct jit_event *je)
{
	struct live *l = arg;
	struct ev e = { .type = EV_JIT, .time_ns = l->front_ns, .pid = l->reading->pid, .tid = -1 };

	e.u.jit.source = l->reading->number;
	e.u.jit.e = *je;
	/* The image has the tables. */
	e.u.jit.e.lines = e.u.jit.e.inlines = e.u.jit.e.unwind = NULL;
	e.u.jit.e.lines_len = e.u.jit.e.inlines_len = e.u.jit.e.unwind_len = 0;
	l->st.n_jit_events++;
	return l->error = event_out(l, &e);
}

/* Of dumps alone: in a map that is written to, a bad line is nothing to tell every user of. */
static void say_damage(struct live_source *s)
{
	struct jit_source_info info;

	if (s->damage_said)
		return;
	jit_source_info(s->s, &info);
	if (!info.n_bad || (info.kind != JIT_SOURCE_JITDUMP && info.kind != JIT_SOURCE_OPDUMP))
		return;
	s->damage_said = true;
	msg_warn("process %d: %s; what is good in it is used", s->pid, jit_source_why(s->s));
}

static int poll_source(struct live *l, struct live_source *s)
{
	int r;

	if (!s->s || !jit_source_pending(s->s))
		return 0;
	l->reading = s;
	l->error = 0;
	r = jit_source_poll(s->s, jit_event_out, l);
	if (l->error < 0)
		return l->error; /* the log's */
	if (r == -EBADMSG || (r < 0 && r != -EAGAIN)) {
		msg_warn("process %d: its JIT records in %s are no longer read: %s", s->pid, s->instance, jit_source_why(s->s));
		s->damage_said = true;
		l->st.n_bad_records++;
		if (!s->exit_ns)
			s->exit_ns = util_now_ns();
	} else {
		say_damage(s);
	}
	return r == -ENOMEM ? r : 0;
}

static struct live_source *source_by_instance(struct live *l, const char *instance)
{
	for (size_t i = 0; i < l->n_sources; i++)
		if (!strcmp(l->sources[i].instance, instance))
			return &l->sources[i];
	return NULL;
}

static int source_add(struct live *l, struct jit_source *js, int32_t pid, uint64_t time_ns, const char *path)
{
	struct jit_source_info info;
	struct live_source *s;
	struct ev e = { .type = EV_JITSRC, .time_ns = time_ns, .pid = pid, .tid = pid };

	jit_source_info(js, &info);
	if (source_by_instance(l, info.instance)) { /* a forked child has its parent's ring in its maps */
		jit_source_free(js);
		return 0;
	}
	if (l->n_sources == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		void *p = room > 2 * MAX_SOURCES ? NULL : realloc(l->sources, room * sizeof(*l->sources));

		if (!p) {
			jit_source_free(js);
			l->st.n_refused++;
			return 0;
		}
		l->sources = p;
		l->room = room;
	}
	s = &l->sources[l->n_sources++];
	*s = (struct live_source){ .s = js, .number = ++l->next_number, .pid = pid };
	snprintf(s->instance, sizeof(s->instance), "%s", info.instance);
	l->st.n_sources++;
	registry_add(l, &info, path);
	if (l->o.agents && jit_source_identity(js))
		agents_on_ring(l->o.agents, pid);
	msg_debug("process %d: JIT source %u, %s (%s)", pid, s->number, info.instance, info.name);
	e.u.jitsrc.source = s->number;
	e.u.jitsrc.kind = info.kind;
	e.u.jitsrc.lag_ns = info.lag_ns;
	e.u.jitsrc.instance = s->instance;
	return event_out(l, &e);
}

static int on_found(void *arg, struct jit_source *js, int32_t pid, uint64_t time_ns, const char *path)
{
	return source_add(arg, js, pid, time_ns, path);
}

static void on_refused(void *arg, int32_t pid, const char *why)
{
	struct live *l = arg;

	l->st.n_refused++;
	msg_warn("process %d: %s", pid, why);
}

static int retry_later(struct live *l, const struct retry *what)
{
	if (l->n_retries == l->retries_room) {
		size_t room = l->retries_room ? l->retries_room * 2 : 8;
		void *p = room > 4096 ? NULL : realloc(l->retries, room * sizeof(*l->retries));

		if (!p)
			return 0;
		l->retries = p;
		l->retries_room = room;
	}
	l->retries[l->n_retries] = *what;
	l->retries[l->n_retries].path = strdup(what->path);
	if (l->retries[l->n_retries].path)
		l->n_retries++;
	return 0;
}

static int source_try(struct live *l, const struct retry *what, bool *again)
{
	struct jit_source *js = NULL;
	const char *why = "";
	int r = jit_source_open(&js, what->pid, owner_of(l, what->pid, what->path), what->path, what->dev, what->ino, &why);

	*again = false;
	if (r == 0)
		return source_add(l, js, what->pid, what->time_ns, what->path);
	if (what->tries < RETRIES && r != -EPERM && r != -ESTALE && r != -EPROTONOSUPPORT && r != -ENOMEM) {
		*again = true;
		return 0;
	}
	l->st.n_refused++;
	msg_warn("process %d: cannot read the JIT records in %s: %s; its JIT code stays without names", what->pid, what->path,
		 why && *why ? why : strerror(-r));
	return 0;
}

static int on_marker(struct live *l, const struct ev *e)
{
	struct retry what = {
		.pid = e->pid, .dev = e->u.mmap.dev, .ino = e->u.mmap.ino, .time_ns = e->time_ns, .path = (char *)e->u.mmap.path,
	};
	bool again;
	int r = source_try(l, &what, &again);

	return r == 0 && again ? retry_later(l, &what) : r;
}

static int retry_all(struct live *l)
{
	size_t n = l->n_retries, kept = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		struct retry *w = &l->retries[i];
		bool again = false;

		w->tries++;
		if (r == 0)
			r = source_try(l, w, &again);
		if (again)
			l->retries[kept++] = *w;
		else
			free(w->path);
	}
	l->n_retries = kept;
	return r;
}

static int on_exit_of(struct live *l, const struct ev *e)
{
	if (l->o.agents)
		agents_on_exit(l->o.agents, e->pid);
	for (size_t i = 0; i < l->n_sources; i++) {
		int r;

		if (l->sources[i].pid != e->pid || l->sources[i].exit_ns)
			continue;
		if ((r = poll_source(l, &l->sources[i])) < 0)
			return r;
		l->sources[i].exit_ns = MAX(e->time_ns, UINT64_C(1));
	}
	return 0;
}

/* --- events of the sampler ----------------------------------------------------------------------------- */

static int live_event(void *arg, const struct ev *e)
{
	struct live *l = arg;
	struct ev copy;
	int r;

	if (e->type == EV_SYNC) {
		l->cpu_sync_ns = l->cpu_sync_ns ? MIN(l->cpu_sync_ns, e->time_ns) : e->time_ns;
		return 0;
	}
	if (e->cpu == UINT32_MAX) {
		copy = *e;
		r = event_out(l, &copy);
	} else {
		r = pipeline_event(l->o.pipeline, e);
	}
	if (r < 0 || e->pid <= 0 || (r = found_event(l->found, e)) < 0)
		return r;
	switch (e->type) {
	case EV_MMAP:
		if (jit_source_is_marker(e->u.mmap.path))
			return on_marker(l, e);
		if (l->o.agents && agents_on_mmap(l->o.agents, e->pid, e->u.mmap.path) && l->starting && l->o.attach_at_start)
			agents_attach_now(l->o.agents, e->pid);
		return 0;
	case EV_COMM:
		if (e->u.comm.flags & EV_COMM_EXEC && l->o.agents)
			agents_on_exec(l->o.agents, e->pid);
		return 0;
	case EV_EXIT:
		return e->pid == e->tid ? on_exit_of(l, e) : 0;
	default:
		return 0;
	}
}

static void agent_said(void *arg, pid_t pid, int result, const char *text)
{
	if (result < 0)
		msg_warn("process %d: %s", (int)pid, text);
	else
		msg_debug("process %d: %s", (int)pid, text);
}

/* --- rounds -------------------------------------------------------------------------------------------- */

static int poll_all(struct live *l)
{
	uint64_t now = util_now_ns();
	int r = 0;

	l->front_ns = MAX(l->front_ns, now);
	for (size_t i = 0; i < l->n_sources && r >= 0; i++)
		r = poll_source(l, &l->sources[i]);
	/* All that was posted before `now` has been read, and with it all code of the samples up to then. */
	if (r >= 0)
		r = pipeline_sync(l->o.pipeline, MIN(l->cpu_sync_ns ? l->cpu_sync_ns : now, now), now);
	return r;
}

int live_start(struct live *l)
{
	int r;

	l->starting = true;
	r = sampler_synthesize(l->o.sampler, live_event, l);
	l->starting = false;
	return r;
}

static void sweep_sources(struct live *l);

int live_round(struct live *l)
{
	int r;

	l->cpu_sync_ns = 0;
	if ((r = sampler_drain(l->o.sampler, live_event, l)) < 0 || (l->n_retries && (r = retry_all(l)) < 0) ||
	    (r = found_tick(l->found, util_now_ns())) < 0 || (r = poll_all(l)) < 0)
		return r;
	if (l->o.agents)
		agents_tick(l->o.agents, agent_said, l);
	if (l->front_ns - l->swept_ns > NSEC_PER_SEC) {
		l->swept_ns = l->front_ns;
		sweep_sources(l);
	}
	return 0;
}

int live_finish(struct live *l)
{
	int r = live_round(l);

	return r < 0 ? r : pipeline_finish(l->o.pipeline);
}

/* --- images -------------------------------------------------------------------------------------------- */

struct saving {
	struct live *l;
	struct live_source *only; /* NULL = all */
	int dirfd;
};

struct wanted {
	struct resolver *r;
	uint32_t source;
};

static bool is_wanted(void *arg, uint64_t id)
{
	const struct wanted *w = arg;

	return resolver_was_hit(w->r, w->source, id);
}

static int save_one(void *arg, const char *instance, uint32_t number, uint32_t segment)
{
	struct saving *sv = arg;
	struct live *l = sv->l;
	AUTO_STRBUF dir = STRBUF_INIT_CAP(8192);
	struct live_source *s = source_by_instance(l, instance);
	struct wanted w = { pipeline_resolver(l->o.pipeline), number };
	char name[256];
	int r;

	if (!s || !s->s || s->number != number || (sv->only && s != sv->only))
		return 0;
	strbuf_addf(&dir, "%s/jit/%s", l->session_dir, instance);
	if (dir.error || (r = io_mkdirs(dir.buf, 0755)) < 0) {
		l->st.image_errors++;
		return 0;
	}
	snprintf(name, sizeof(name), "jit/%s/%u.jo", instance, segment);
	s->whole |= !s->saved && faccessat(sv->dirfd, name, F_OK, 0) == 0;
	s->saved = true;
	if (!s->whole)
		jit_source_keep_only(s->s, is_wanted, &w);
	r = jit_source_save_image(s->s, segment, sv->dirfd, name);
	jit_source_keep_only(s->s, NULL, NULL);
	if (r < 0 && r != -ENOENT) {
		l->st.image_errors++;
		msg_warn("cannot save the image %s/%s: %s; its samples will have no names", l->session_dir, name, strerror(-r));
		return 0;
	}
	l->st.images_saved++;
	if (s->exit_ns)
		(void)jit_source_share_image(s->s, segment, sv->dirfd, name);
	return 0;
}

static int save_images(struct live *l, struct live_source *only)
{
	AUTO_CLOSE int fd = open(l->session_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct saving sv = { l, only, fd };

	if (fd < 0)
		return -errno;
	return account_each_image(pipeline_account(l->o.pipeline), save_one, &sv);
}

int live_save_images(struct live *l)
{
	return save_images(l, NULL);
}

/* Sources of processes that are gone for long enough that all their samples are resolved: saved, then closed. */
static void sweep_sources(struct live *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_sources; i++) {
		struct live_source *s = &l->sources[i];

		if (!s->exit_ns || s->exit_ns + AFTER_EXIT_NS > l->front_ns) {
			l->sources[kept++] = *s;
			continue;
		}
		(void)save_images(l, s);
		account_forget_source(pipeline_account(l->o.pipeline), s->number);
		jit_source_free(s->s);
		s->s = NULL;
		s->instance[0] = '\0';
	}
	l->n_sources = kept;
}

void live_describe(const struct live *l, struct strbuf *ret)
{
	for (size_t i = 0; i < l->n_sources; i++) {
		struct jit_source_info info;

		if (!l->sources[i].s)
			continue;
		jit_source_info(l->sources[i].s, &info);
		strbuf_addf(ret, "jit pid=%d instance=%s source=%s events=%" PRIu64 " bytes=%" PRIu64 "%s\n", info.pid, info.instance,
			    info.name, info.n_events, info.heap_bytes, l->sources[i].exit_ns ? " gone" : "");
	}
}

void live_stats(const struct live *l, struct live_stats *ret)
{
	*ret = l->st;
	ret->open_sources = l->n_sources;
	for (size_t i = 0; i < l->n_sources; i++) {
		struct jit_source_info info;

		if (!l->sources[i].s)
			continue;
		jit_source_info(l->sources[i].s, &info);
		ret->n_overruns += info.n_overruns;
		ret->n_bad_records += info.n_bad;
	}
}

int live_save_kallsyms(const char *root, const char *session_dir)
{
	AUTO_STRBUF path = STRBUF_INIT, text = STRBUF_INIT;
	size_t kept = 0;
	bool any = false;
	int r;

	strbuf_addf(&path, "%s/kallsyms", root ? root : "/proc");
	if ((r = io_slurp(AT_FDCWD, strbuf_str(&path), &text)) < 0)
		return r;
	for (const char *s = strbuf_str(&text), *nl; *s; s = nl) {
		const char *space = strchr(s, ' ');

		nl = strchrnul(s, '\n');
		nl += *nl == '\n';
		if (!space || space >= nl || !strchr("tTwW", space[1]))
			continue;
		any |= *s != '0' || strspn(s, "0") < (size_t)(space - s);
		memmove(text.buf + kept, s, (size_t)(nl - s)); /* in place: it is several megabytes */
		kept += (size_t)(nl - s);
	}
	if (!any)
		return -EPERM;
	strbuf_reset(&path);
	strbuf_addf(&path, "%s/kallsyms", session_dir);
	return path.error ? -ENOMEM : io_replace(path.buf, text.buf, kept, 0644);
}

int live_save_vdso(const char *session_dir)
{
	AUTO_STRBUF path = STRBUF_INIT, maps = STRBUF_INIT, old = STRBUF_INIT_CAP(SESSION_VDSO_MAX);
	AUTO_CLOSE int fd = -1;
	const char *line, *at;
	uint64_t start, end;
	int r;

	strbuf_addf(&path, "%s/vdso", session_dir);
	if (path.error)
		return path.error;
	if ((r = io_slurp(AT_FDCWD, "/proc/self/maps", &maps)) < 0)
		return r;
	line = at = strstr(strbuf_str(&maps), "[vdso]");
	while (line && line > maps.buf && line[-1] != '\n')
		line--;
	if (!at || sscanf(line, "%" SCNx64 "-%" SCNx64 " r", &start, &end) != 2 || end <= start || end - start > SESSION_VDSO_MAX)
		return -ENOENT;
	/* The directory may be older than the kernel that runs. */
	fd = io_open_regular(AT_FDCWD, path.buf, O_RDONLY);
	if (fd >= 0 && !io_read_all(fd, &old) && old.len == end - start && !memcmp(old.buf, (const void *)(uintptr_t)start, old.len))
		return 0;
	return io_replace(path.buf, (const void *)(uintptr_t)start, (size_t)(end - start), 0644);
}
