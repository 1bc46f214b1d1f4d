/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/symbolize.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/found.h"
#include "daemon/resolver.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/map.h"
#include "lib/msg.h"
#include "report/names.h"
#include "report/symbols.h"
#include "sampler/procinfo.h"

#define LINE_PART 65536
#define MAX_SOURCES 256
#define NAMES_MAX ((size_t)2 << 30)
#define LOOK_AGAIN_NS NSEC_PER_SEC

struct symbolize {
	const char *proc_root;
	int32_t pid;
	uint32_t uid;
	int rootfd;
	struct resolver *resolver;
	struct found *found;
	struct jit_source *sources[MAX_SOURCES]; /* number - 1 */
	uint32_t n_sources, reading;
	struct strpool instances;
	struct strbuf names;
	struct u64map name_of;  /* source << 32 | region -> offset in names + 1 */
	struct u64map mapped;   /* mappings that were told already */
	struct symbols *symbols;
	uint64_t looked_ns;
};

/* --- what there is --------------------------------------------------------------------------------------- */

static int on_jit_event(void *arg, const struct jit_event *je)
{
	struct symbolize *s = arg;
	struct ev e = { .type = EV_JIT, .time_ns = s->looked_ns, .pid = s->pid, .tid = -1 };

	e.u.jit.source = s->reading;
	e.u.jit.e = *je;
	if (je->type == JIT_EVENT_LOAD && je->name) {
		size_t at = s->names.len;
		strbuf_add(&s->names, je->name, je->name_len);
		if (strbuf_addch(&s->names, '\0') < 0 || u64map_put(&s->name_of, (uint64_t)s->reading << 32 | (uint32_t)je->id, at + 1) < 0)
			return -ENOMEM;
	}
	return resolver_early(s->resolver, &e);
}

static int source_add(struct symbolize *s, struct jit_source *js)
{
	struct ev e = { .type = EV_JITSRC, .time_ns = s->looked_ns, .pid = s->pid, .tid = s->pid };
	struct jit_source_info info;
	uint32_t before = s->instances.n;

	jit_source_info(js, &info);
	if (s->n_sources == MAX_SOURCES || strpool_id(&s->instances, info.instance, strlen(info.instance)) < 0 || s->instances.n == before) {
		jit_source_free(js); /* known already */
		return 0;
	}
	s->sources[s->n_sources++] = js;
	e.u.jitsrc.source = s->n_sources;
	e.u.jitsrc.kind = info.kind;
	e.u.jitsrc.lag_ns = info.lag_ns;
	e.u.jitsrc.instance = info.instance;
	return resolver_early(s->resolver, &e);
}

static int on_found(void *arg, struct jit_source *js, int32_t pid, uint64_t time_ns, const char *path)
{
	return source_add(arg, js);
}

static void on_refused(void *arg, int32_t pid, const char *why) { msg_warn("process %d: %s", pid, why); }

static int on_mapping(void *arg, const struct ev *e)
{
	struct symbolize *s = arg;
	uint64_t what[] = { e->u.mmap.addr, e->u.mmap.len, e->u.mmap.pgoff, util_hash_bytes(e->u.mmap.path, strlen(e->u.mmap.path)) };
	uint64_t *seen = u64map_at(&s->mapped, util_hash_bytes(what, sizeof(what)));
	struct jit_source *js;
	const char *why = NULL;
	int r;

	if (!seen)
		return -ENOMEM;
	if ((*seen)++)
		return 0;
	r = resolver_event(s->resolver, e);
	if (r < 0 || !jit_source_is_marker(e->u.mmap.path))
		return r < 0 ? r : found_event(s->found, e);
	r = jit_source_open(&js, s->pid, s->uid, e->u.mmap.path, e->u.mmap.dev, e->u.mmap.ino, &why);
	if (!r)
		return source_add(s, js);
	msg_warn("process %d: cannot read the JIT records in %s: %s", s->pid, e->u.mmap.path, why && *why ? why : strerror(-r));
	return 0;
}

/* What is new of the process: mappings, sources, code. Once it is gone, what was read holds. */
static int look(struct symbolize *s)
{
	int r;

	s->looked_ns = util_now_ns();
	r = procinfo_mappings(s->proc_root, s->pid, s->looked_ns, UINT32_MAX, on_mapping, s);
	if (r < 0)
		return r;
	r = found_tick(s->found, s->looked_ns);
	for (uint32_t i = 0; r >= 0 && i < s->n_sources; i++) {
		if (!s->sources[i] || !jit_source_pending(s->sources[i]))
			continue;
		s->reading = i + 1;
		r = jit_source_poll(s->sources[i], on_jit_event, s);
		if (r >= 0 || r == -ENOMEM)
			continue;
		if (r != -EAGAIN) {
			msg_warn("process %d: its JIT records are no longer read: %s", s->pid, jit_source_why(s->sources[i]));
			jit_source_free(s->sources[i]);
			s->sources[i] = NULL;
		}
		r = 0;
	}
	return MIN(r, 0);
}

/* --- names ----------------------------------------------------------------------------------------------- */

static bool name_of(struct symbolize *s, uint64_t addr, struct strbuf *ret)
{
	uint64_t now = util_now_ns(), *at;
	struct proc *p = resolver_proc(s->resolver, s->pid, now);
	struct session_file file = { .kind = SESSION_FILE };
	const struct sym *sym = NULL;
	struct sym_image *image;
	struct hit h;

	if (!p)
		return false;
	resolver_find(s->resolver, p, now, addr, EV_USER, &h);
	if (h.image == HIT_JIT) {
		at = u64map_get(&s->name_of, (uint64_t)jitsrc_number(h.source) << 32 | (uint32_t)h.region_id);
		if (at)
			names_pretty(ret, s->names.buf + *at - 1, NAMES_SMART, true);
		return at != NULL;
	}
	if (h.image == HIT_FILE) {
		file.image = h.name;
		image = symbols_image(s->symbols, &file);
		sym = image ? sym_find(image, h.key, NULL) : NULL;
	}
	if (sym)
		names_pretty(ret, sym->name, NAMES_SMART, false);
	return sym != NULL;
}

/* The hexadecimal number that begins at p, or 0; *end behind it. bare: without 0x, and long enough to be no other word. */
static uint64_t number_at(const char *p, bool bare, const char **end)
{
	size_t n = strspn(p += bare ? 0 : 2, "0123456789abcdefABCDEF");
	char digits[17];
	uint64_t v;

	*end = p + n;
	if (n < (bare ? 8 : 1) || n > 16 || isalnum((unsigned char)p[n]) || p[n] == '_')
		return 0;
	memcpy(digits, p, n);
	digits[n] = '\0';
	return util_parse_u64(digits, 16, UINT64_MAX, &v) < 0 ? 0 : v;
}

static void put_text(struct symbolize *s, const char *text, bool line_begins, FILE *out)
{
	const char *first = line_begins ? text + strspn(text, " \t") : NULL;

	for (const char *p = text; *p;) {
		bool word = p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_'), prefixed = word && p[0] == '0' && (p[1] | 0x20) == 'x';
		AUTO_STRBUF name = STRBUF_INIT_CAP(1 << 20);
		const char *end;
		uint64_t addr = prefixed || p == first ? number_at(p, !prefixed, &end) : 0;

		if (addr && name_of(s, addr, &name) && name.len) {
			fwrite(name.buf, 1, name.len, out);
			p = end;
		} else {
			putc(*p++, out);
		}
	}
}

static int copy(struct symbolize *s, FILE *in, FILE *out)
{
	AUTO_FREE char *line = malloc(LINE_PART);
	bool begins = true;
	int r = line ? 0 : -ENOMEM;

	setvbuf(out, NULL, _IOLBF, 0);
	while (!r && fgets(line, LINE_PART, in)) {
		size_t len = strlen(line);
		if (util_now_ns() - s->looked_ns > LOOK_AGAIN_NS && (r = look(s)) != -ENOMEM)
			r = 0;
		put_text(s, line, begins, out);
		begins = !len || line[len - 1] == '\n';
	}
	if (!r && ferror(in))
		r = -EIO;
	return r ? msg_errno(r, "cannot go on") : 0;
}

static void done(struct symbolize *s)
{
	found_free(s->found);
	for (uint32_t i = 0; i < s->n_sources; i++)
		jit_source_free(s->sources[i]);
	symbols_free(s->symbols);
	resolver_free(s->resolver);
	strpool_done(&s->instances);
	strbuf_done(&s->names);
	u64map_done(&s->name_of);
	u64map_done(&s->mapped);
	if (s->rootfd >= 0)
		close(s->rootfd);
	free(s);
}

int symbolize_stream(const char *proc_root, int32_t pid, FILE *in, FILE *out)
{
	struct symbolize *s = calloc(1, sizeof(*s));
	struct procinfo info = { 0 };
	char path[256];
	int r;

	if (!s)
		return msg_errno(-ENOMEM, "cannot begin");
	s->proc_root = proc_root;
	s->pid = pid;
	s->names.cap = NAMES_MAX;
	snprintf(path, sizeof(path), "%s/%d/root", proc_root, pid);
	s->rootfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = procinfo_read_ids(&info, proc_root, pid) < 0 ? -ESRCH : s->rootfd < 0 ? -errno : 0;
	s->uid = info.uid;
	if (!r)
		r = resolver_new(&s->resolver);
	if (!r)
		r = found_new(&s->found, proc_root, on_found, on_refused, s);
	if (!r)
		r = symbols_new(&s->symbols, NULL, &(struct symbols_opts){ .in_root = true, .rootfd = s->rootfd });
	if (!r)
		r = look(s);
	if (r < 0)
		msg_error("cannot look at process %d: %s%s", pid, strerror(-r), r == -EACCES || r == -EPERM ? "; run as its user or as root" : "");
	else
		r = copy(s, in, out);
	done(s);
	return r;
}
