/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oparchive: a session and every file that its reports need, in one directory or one .tar. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/map.h"
#include "lib/msg.h"
#include "report/elfdebug.h"
#include "session/archive.h"
#include "session/session.h"
#include "session/tar.h"

static const char usage[] =
	"Usage: oparchive [OPTION]... [session:NAME]...\n"
	"Puts a session and every image it names (JIT images, binaries, their debug files,\n"
	"kernel symbols) into one directory or one .tar, to be read on another machine:\n"
	"opreport archive:PLACE.\n\n"
	"  -o, --output-directory=PLACE  new directory, or a file if the name ends in .tar\n"
	"                                (- = a .tar on the standard output)\n"
	"  -d, --session-dir=DIR         session directory (default ./oprofile_data, else\n"
	"                                /var/lib/oprofile)\n"
	"  -x, --exclude-dependent       only the applications' own binaries, no libraries\n"
	"  -l, --list-files              only list the files that would be taken\n"
	"  -V, --verbose                 name each image that is not to be found\n"
	"  -?, --help                    this text\n"
	"  -v, --version                 version\n";

struct archive {
	const char *dir;         /* of the session */
	const char *out;
	int out_fd;              /* the directory, or the .tar */
	bool tar, list, no_deps, verbose;
	struct strpool taken;    /* paths in the archive, each once */
	uint64_t files, bytes, missing;
};

/* --- one file ------------------------------------------------------------------------------------------ */
static int make_parents(int dir, const char *path)
{
	AUTO_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *p = strchr(copy, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdirat(dir, copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int copy_to_dir(struct archive *a, int in, const char *to, uint64_t len)
{
	AUTO_CLOSE int out = -1;
	char buf[65536];
	int r = make_parents(a->out_fd, to);

	if (r < 0)
		return r;
	out = openat(a->out_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (out < 0)
		return -errno;
	while (len && r >= 0) {
		ssize_t n = io_read_full(in, buf, (size_t)MIN(len, (uint64_t)sizeof(buf)));
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		r = io_write_full(out, buf, (size_t)n);
		len -= (uint64_t)n;
	}
	return r;
}

/*
 * The regular file `from` becomes `to` (without a slash in front) in the archive; the second time nothing happens. follow: 0, or
 * O_NOFOLLOW for what lies in the session, whose owner may have put a link there to what only we can read.
 */
static int take(struct archive *a, int dirfd, const char *from, int follow, const char *to)
{
	AUTO_CLOSE int in = -1;
	uint32_t before = a->taken.n;
	struct stat st;
	int64_t id;
	int r;

	while (*to == '/')
		to++;
	id = strpool_id(&a->taken, to, strlen(to));
	if (id < 0)
		return (int)id;
	if (id < before)
		return 0;
	if (a->list) {
		printf("%s%s%s\n", *from == '/' ? "" : a->dir, *from == '/' ? "" : "/", from);
		return 0;
	}
	in = openat(dirfd, from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow);
	if (in < 0 && errno == ELOOP && follow) {
		msg_warn("%s: a symbolic link: left out", from);
		return 0;
	}
	if (in < 0 || fstat(in, &st) < 0)
		return msg_errno(errno, "%s", from);
	if (!S_ISREG(st.st_mode))
		return 0;
	a->files++;
	a->bytes += (uint64_t)st.st_size;
	r = a->tar ? tar_put_file_from(a->out_fd, to, in, (uint64_t)st.st_size) : copy_to_dir(a, in, to, (uint64_t)st.st_size);
	return r < 0 ? msg_errno(r, "%s/%s", a->out, to) : 0;
}

/* All regular files below a directory of the session. */
static int take_tree(struct archive *a, int dirfd, const char *path, const char *to, unsigned int depth)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(d));) {
		AUTO_STRBUF below = STRBUF_INIT;
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		strbuf_addf(&below, "%s/%s", to, e->d_name);
		if (below.error)
			r = below.error;
		else if (S_ISDIR(st.st_mode))
			r = depth > 200 ? -ELOOP : take_tree(a, fd, e->d_name, below.buf, depth + 1);
		else if (S_ISREG(st.st_mode))
			r = take(a, fd, e->d_name, O_NOFOLLOW, below.buf);
	}
	closedir(d);
	return r;
}

/* --- images -------------------------------------------------------------------------------------------- */
static int take_debug(void *arg, const char *path, const char *archived)
{
	return take(arg, AT_FDCWD, path, 0, archived);
}

static int take_image(struct archive *a, const struct session *s, const struct session_file *f)
{
	AUTO_STRBUF now = STRBUF_INIT, to = STRBUF_INIT;
	int r = session_image_path(s, f, &now);

	if (r == -ENOENT) {
		/* The kernel's symbols are in kallsyms; its image is seldom there, and nothing but disassembly wants it. */
		if (f->kind == SESSION_FILE || f->kind == SESSION_JIT) {
			a->missing++;
			if (a->verbose)
				msg_warn("%s: not found", f->image);
		}
		return 0;
	}
	if (r < 0)
		return r;
	if (f->kind == SESSION_JIT)
		strbuf_addf(&to, "jit/%s", f->image);
	else if (f->kind == SESSION_KERNEL)
		strbuf_addf(&to, "archive/{kern}/%s", f->image);
	else
		strbuf_addstr(&to, f->image);
	if (to.error)
		return to.error;
	r = take(a, AT_FDCWD, now.buf, f->kind == SESSION_JIT ? O_NOFOLLOW : 0, to.buf);
	if (r >= 0 && f->kind == SESSION_FILE)
		r = elfdebug_each(now.buf, f->image, take_debug, a);
	return r;
}

static int take_session(struct archive *a, const char *name)
{
	AUTO_STRBUF to = STRBUF_INIT, from = STRBUF_INIT;
	struct session *s;
	char *why = NULL;
	int r = session_open_named(&s, a->dir, name, &why);

	if (r < 0) {
		msg_error("%s", why ? why : strerror(-r));
		free(why);
		return r;
	}
	strbuf_addf(&to, "samples/%s", name);
	strbuf_addf(&from, "%s/samples/%s", a->dir, name);
	r = from.error ? from.error : take_tree(a, AT_FDCWD, from.buf, to.buf, 0);
	if (r < 0)
		msg_errno(r, "%s", strbuf_str(&from));
	for (size_t i = 0; i < session_n_files(s) && r >= 0; i++) {
		const struct session_file *f = session_file(s, i);
		if (!a->no_deps || f->kind == SESSION_JIT || !strcmp(f->image, f->app_path))
			r = take_image(a, s, f);
	}
	session_free(s);
	return r;
}

static int take_rest(struct archive *a)
{
	static const char *const names[] = { "kallsyms", "vdso", "modules" };
	AUTO_STRBUF path = STRBUF_INIT, info = STRBUF_INIT;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%s", a->dir, names[i]);
		if (access(strbuf_str(&path), R_OK) == 0)
			r = take(a, AT_FDCWD, path.buf, O_NOFOLLOW, names[i]);
	}
	if (r < 0 || a->list)
		return r;
	session_archive_info(&info, a->dir);
	if (a->tar) {
		r = tar_put_file(a->out_fd, SESSION_ARCHIVE_INFO, info.buf, info.len);
		return r < 0 ? r : tar_put_end(a->out_fd);
	}
	strbuf_reset(&path);
	strbuf_addf(&path, "%s/%s", a->out, SESSION_ARCHIVE_INFO);
	return io_replace(strbuf_str(&path), info.buf, info.len, 0644);
}

/* --- main ---------------------------------------------------------------------------------------------- */
static int open_output(struct archive *a)
{
	size_t len = strlen(a->out);

	if (!strcmp(a->out, "-")) {
		a->tar = true;
		a->out_fd = 1;
		return 0;
	}
	a->tar = len > 4 && !strcmp(a->out + len - 4, ".tar");
	if (a->tar)
		a->out_fd = open(a->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	else if (mkdir(a->out, 0755) == 0)
		a->out_fd = open(a->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->out_fd < 0)
		return msg_errno(errno, "%s", a->out);
	return 0;
}

static int run(struct archive *a, char **names, int n)
{
	int r = a->list ? 0 : open_output(a);

	if (r < 0)
		return r;
	if (!n)
		r = take_session(a, "current");
	for (int i = 0; i < n && r >= 0; i++)
		r = take_session(a, names[i] + strlen("session:"));
	if (r >= 0)
		r = take_rest(a);
	if (!a->list && a->out_fd > 1 && close(a->out_fd) < 0 && r >= 0)
		r = msg_errno(errno, "%s", a->out);
	strpool_done(&a->taken);
	if (r >= 0 && !a->list)
		msg_info("%s: %llu files, %llu bytes%s", a->out, (unsigned long long)a->files, (unsigned long long)a->bytes,
			 a->missing ? "" : ", every image");
	if (a->missing)
		msg_warn("%llu images are not here any more%s", (unsigned long long)a->missing, a->verbose ? "" : " (-V names them)");
	return r;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output-directory", required_argument, NULL, 'o' }, { "session-dir", required_argument, NULL, 'd' },
		{ "exclude-dependent", no_argument, NULL, 'x' }, { "list-files", no_argument, NULL, 'l' },
		{ "verbose", optional_argument, NULL, 'V' }, { "help", no_argument, NULL, '?' }, { "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct archive a = { .out_fd = -1 };
	int c, at;

	msg_init("oparchive");
	while ((at = optind, c = getopt_long(argc, argv, "o:d:xlVv?", longs, NULL)) != -1) {
		switch (c) {
		case 'o': a.out = optarg; break;
		case 'd': a.dir = optarg; break;
		case 'x': a.no_deps = true; break;
		case 'l': a.list = true; break;
		case 'V': a.verbose = true; break;
		case 'v':
			printf("oparchive (opjit) %s\n", PACKAGE_VERSION);
			return 0;
		default:
			if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-?")) {
				fputs(usage, stdout);
				return 0;
			}
			return 2;
		}
	}
	for (int i = optind; i < argc; i++)
		if (strncmp(argv[i], "session:", 8) != 0 || !argv[i][8]) {
			msg_error("%s: not session:NAME", argv[i]);
			return 2;
		}
	if (!a.out && !a.list) {
		msg_error("where to? give -o DIRECTORY or -o FILE.tar");
		return 2;
	}
	if (!a.dir)
		a.dir = access("oprofile_data/samples", F_OK) == 0 ? "oprofile_data" : "/var/lib/oprofile";
	return run(&a, argv + optind, argc - optind) < 0 ? 1 : 0;
}
