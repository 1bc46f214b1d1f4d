/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampler/procinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"

#define ARGS_MAX ((size_t)1 << 20)

void procinfo_done(struct procinfo *p)
{
	free(p->exe);
	free(p->app);
	*p = (struct procinfo){ 0 };
}

static int slurp_proc(struct strbuf *sb, const char *proc_root, int32_t pid, const char *what)
{
	char path[512];

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, what) >= sizeof(path))
		return -ENAMETOOLONG;
	return io_slurp(AT_FDCWD, path, sb);
}

/* Fields from number 3 on, behind the last ')': a comm may have spaces and brackets of its own. */
static int parse_stat(struct procinfo *ret, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	char *p;
	size_t n;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -EBADMSG;
	n = MIN((size_t)(close - open - 1), sizeof(ret->comm) - 1);
	memcpy(ret->comm, open + 1, n);
	ret->comm[n] = '\0';
	ret->state = close[2];
	p = (char *)close + 3;
	for (int field = 4; field <= 23; field++) {
		char *end;
		unsigned long long v = strtoull(p, &end, 10);
		if (end == p)
			return -EBADMSG;
		p = end;
		if (field == 4)
			ret->ppid = (int32_t)v;
		else if (field == 20)
			ret->n_threads = (int32_t)v;
		else if (field == 22)
			ret->start_time = v;
		else if (field == 23)
			ret->vsize = v;
	}
	return 0;
}

int procinfo_read_stat(struct procinfo *ret, const char *proc_root, int32_t pid)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(8192);
	int r = slurp_proc(&text, proc_root, pid, "stat");

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	return parse_stat(ret, strbuf_str(&text));
}

static void read_status(struct procinfo *ret, const char *proc_root, int32_t pid)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(65536);
	const char *p;

	ret->nspid = pid;
	if (slurp_proc(&text, proc_root, pid, "status") < 0)
		return;
	p = strstr(strbuf_str(&text), "\nUid:");
	if (p)
		ret->uid = (uint32_t)strtoul(p + 5, NULL, 10);
	p = strstr(strbuf_str(&text), "\nNSpid:");
	if (p) {
		/* One number a namespace, the innermost last. */
		const char *eol = strchr(p + 1, '\n');
		char *end;
		for (p += 7; p < eol; p = end) {
			long v = strtol(p, &end, 10);
			if (end == p || end > eol)
				break;
			ret->nspid = (int32_t)v;
		}
	}
}

int procinfo_read_ids(struct procinfo *ret, const char *proc_root, int32_t pid)
{
	int r = procinfo_read_stat(ret, proc_root, pid);

	if (r >= 0)
		read_status(ret, proc_root, pid);
	return r;
}

/* The words of an argument file, each with its NUL. Only the simple forms. */
static void add_argfile_words(struct strbuf *out, const char *p)
{
	char quote = 0;
	bool in_word = false;

	for (; *p; p++) {
		if (quote ? *p == quote : (*p == '"' || *p == '\'')) {
			quote = quote ? 0 : *p;
			in_word = true;
		} else if (!quote && *p == '#' && !in_word) {
			while (p[1] && p[1] != '\n')
				p++;
		} else if (!quote && strchr(" \t\r\n\f", *p)) {
			if (in_word)
				strbuf_addch(out, '\0');
			in_word = false;
		} else {
			if (*p == '\\' && quote && p[1])
				p++;
			strbuf_addch(out, *p);
			in_word = true;
		}
	}
	if (in_word)
		strbuf_addch(out, '\0');
}

/* java @FILE: the file's words stand in its place. What does not fit is left out. */
static void expand_argfile(struct strbuf *out, const char *proc_root, int32_t pid, const char *name)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(ARGS_MAX);
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/%s%s", proc_root, pid, name[0] == '/' ? "root" : "cwd/", name) >= sizeof(path))
		return;
	if (io_slurp(AT_FDCWD, path, &text) < 0)
		return;
	add_argfile_words(out, strbuf_str(&text));
}

static void expand_args(struct strbuf *out, const struct strbuf *args, const char *proc_root, int32_t pid)
{
	const char *p = strbuf_str(args), *end = p + args->len;
	bool first = true;

	for (; p < end; p += strlen(p) + 1) {
		if (!first && p[0] == '@' && p[1] && p[1] != '@')
			expand_argfile(out, proc_root, pid, p + 1);
		else
			strbuf_add(out, p, strlen(p) + 1);
		first = false;
	}
}

static char *read_exe(const char *proc_root, int32_t pid)
{
	char path[512], exe[4096];
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/exe", proc_root, pid) >= sizeof(path))
		return strdup("");
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	return strdup(exe);
}

int procinfo_read(struct procinfo *ret, const char *proc_root, int32_t pid)
{
	AUTO_STRBUF args = STRBUF_INIT_CAP(ARGS_MAX), full = STRBUF_INIT_CAP(ARGS_MAX), app = STRBUF_INIT_CAP(4096);
	int r;

	*ret = (struct procinfo){ .nspid = pid };
	r = procinfo_read_stat(ret, proc_root, pid);
	read_status(ret, proc_root, pid);
	ret->exe = read_exe(proc_root, pid);
	/* Cut at the cap: the front is enough to find the name, so an error is none. */
	(void)slurp_proc(&args, proc_root, pid, "cmdline");
	if (args.len && args.buf[args.len - 1])
		strbuf_addch(&args, '\0');
	if (ret->exe && args.len) {
		expand_args(&full, &args, proc_root, pid);
		procinfo_app_name(&app, ret->exe, strbuf_str(&full), full.len);
	}
	ret->app = strdup(strbuf_str(&app));
	if (!ret->exe || !ret->app) {
		procinfo_done(ret);
		return -ENOMEM;
	}
	return r;
}

bool procinfo_first_pid_ns(void)
{
	char ns[64];
	ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	ns[MAX(n, (ssize_t)0)] = '\0';
	return n < 0 || !strcmp(ns, "pid:[4026531836]"); /* the first one's number is fixed */
}
