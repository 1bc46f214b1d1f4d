/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which session directories a query reads. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "report/query.h"
#include "report/query_index.h"
#include "session/archive.h"

#define DEFAULT_HERE "oprofile_data"
#define DEFAULT_SYSTEM "/var/lib/oprofile"

static bool has_samples(const char *dir)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct stat st;

	strbuf_addf(&sb, "%s/samples/current", dir);
	return !sb.error && !stat(sb.buf, &st);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int open_at(struct session **ret, const char *dir, const char *name, struct strbuf *why)
{
	AUTO_FREE char *reason = NULL;
	int r = session_open_named(ret, dir, name, &reason);

	if (r == -ENOENT || r == -ENOTDIR) {
		if (strcmp(name, "current"))
			strbuf_addf(why, "no session %s in %s", name, dir);
		else
			strbuf_addf(why, "no profile in %s: record one with `operf -d %s COMMAND`", dir, dir);
	} else if (r < 0 && reason) {
		strbuf_addstr(why, reason);
	} else if (r < 0) {
		strbuf_addf(why, "%s: %s", dir, strerror(-r));
	}
	return r;
}

int query_open_session(struct session **ret, const char *dir, char **ret_dir, struct strbuf *why)
{
	AUTO_FREE char *own = NULL;
	int r;

	if (!dir) {
		dir = has_samples(DEFAULT_HERE) ? DEFAULT_HERE : has_samples(DEFAULT_SYSTEM) ? DEFAULT_SYSTEM :
		      is_dir(DEFAULT_HERE) ? DEFAULT_HERE : NULL;
		if (!dir) {
			strbuf_addstr(why, "no profile in ./" DEFAULT_HERE " nor in " DEFAULT_SYSTEM
					   ": record one with `operf COMMAND`, or name its directory with --session-dir");
			return -ENOENT;
		}
	}
	own = strdup(dir);
	if (!own)
		return -ENOMEM;
	r = open_at(ret, dir, "current", why);
	if (!r && ret_dir)
		*ret_dir = TAKE_PTR(own);
	return r;
}

static int add_source(struct query *q, struct session *s, const char *dir, const char *archive)
{
	struct query_source *more = realloc(q->sources, (q->n_sources + 1) * sizeof(*more));
	struct symbols_opts so = { .root = q->opts.root, .dirs = q->opts.image_dirs, .archive = archive, .tiers = q->opts.tiers || q->opts.style != NAMES_SMART };
	struct query_source *src;
	int r;

	if (!archive && session_archive_is(dir))
		so.archive = dir;
	if (!more) {
		session_free(s);
		return -ENOMEM;
	}
	q->sources = more;
	src = &more[q->n_sources++];
	*src = (struct query_source){ .session = s, .dir = strdup(dir) };
	r = symbols_new(&src->symbols, s, &so);
	return r < 0 ? r : src->dir ? 0 : -ENOMEM;
}

/* Archives that are .tar files are unpacked for as long as the tool runs. */
static struct {
	char *tar, *dir;
} unpacked[8];

static void remove_unpacked(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(unpacked) && unpacked[i].dir; i++)
		session_archive_remove(unpacked[i].dir);
}

static int unpack(const char *tar, const char **dir, struct strbuf *why)
{
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(unpacked) && unpacked[i].dir; i++)
		if (!strcmp(unpacked[i].tar, tar)) {
			*dir = unpacked[i].dir;
			return 0;
		}
	if (i == ARRAY_SIZE(unpacked))
		return -E2BIG;
	unpacked[i].tar = strdup(tar);
	r = unpacked[i].tar ? session_archive_unpack(tar, &unpacked[i].dir, why) : -ENOMEM;
	if (r >= 0 && !i)
		atexit(remove_unpacked);
	*dir = unpacked[i].dir;
	return r;
}

static bool is_tar(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The session directory inside an archive: as the archived path, the default places, or the archive itself. */
static char *archived_dir(const char *archive, const char *dir)
{
	const char *tries[] = { dir, DEFAULT_SYSTEM, DEFAULT_HERE, "" };

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		AUTO_STRBUF sb = STRBUF_INIT;

		if (!tries[i])
			continue;
		strbuf_addf(&sb, "%s%s%s", archive, *tries[i] && *tries[i] != '/' ? "/" : "", tries[i]);
		if (!sb.error && has_samples(sb.buf))
			return strbuf_steal(&sb);
	}
	return strdup(archive);
}

static bool listed(const struct spec_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

/* The archive that is asked for, unpacked if need be, and the session directory that words of session: are looked for in. */
static int find_base(struct query *q, const char **archive, char **base, struct strbuf *why)
{
	const struct spec_list *archives = &q->spec.of[SPEC_ARCHIVE], *names = &q->spec.of[SPEC_SESSION];
	int r = 0;

	if (archives->n > 1) {
		strbuf_addstr(why, "one archive: at a time; compare two with { archive:A } { archive:B }");
		return -EINVAL;
	}
	if (archives->n) {
		*archive = archives->v[0];
		if (is_tar(*archive))
			r = unpack(*archive, archive, why);
		if (r < 0)
			return r;
		*base = archived_dir(*archive, q->opts.session_dir);
		return *base ? 0 : -ENOMEM;
	}
	if (names->n && !q->opts.session_dir) {
		*base = strdup(has_samples(DEFAULT_HERE) || !has_samples(DEFAULT_SYSTEM) ? DEFAULT_HERE : DEFAULT_SYSTEM);
		return *base ? 0 : -ENOMEM;
	}
	return 0;
}

/* Each image that is looked into keeps its file open, and a session may have more of them than the usual limit. */
static void raise_nofile(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur == rl.rlim_max)
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

int query_sources_open(struct query *q, struct strbuf *why)
{
	const struct spec_list *names = &q->spec.of[SPEC_SESSION];
	const char *archive = NULL;
	AUTO_FREE char *base = NULL;
	struct session *s = NULL;
	int r;

	raise_nofile();
	r = find_base(q, &archive, &base, why);
	if (r < 0)
		return r;
	if (!names->n) {
		char *dir = NULL;

		r = query_open_session(&s, archive ? base : q->opts.session_dir, &dir, why);
		if (r < 0)
			return r;
		r = add_source(q, s, dir, archive);
		free(dir);
		return r;
	}
	for (size_t i = 0; i < names->n; i++) {
		/* a path is a session directory, a word is what `opcontrol --save` named */
		bool is_path = strchr(names->v[i], '/') != NULL;
		const char *dir = is_path ? names->v[i] : base ? base : q->opts.session_dir;

		if (listed(&q->spec.of[SPEC_SESSION_EXCLUDE], names->v[i]))
			continue;
		r = open_at(&s, dir, is_path ? "current" : names->v[i], why);
		if (!r)
			r = add_source(q, s, dir, archive);
		if (r < 0)
			return r;
	}
	if (!q->n_sources) {
		strbuf_addstr(why, "session-exclude: leaves no session");
		return -ENOENT;
	}
	return 0;
}
