/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/elfdebug.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/elfnames.h"
#include "lib/io.h"

#define DEBUG_ROOT "/usr/lib/debug"

struct links {
	uint8_t build_id[64];
	size_t build_id_len;
	char debuglink[256], altlink[1024];
};

static void read_note(struct links *l, Elf_Data *d)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while ((at = gelf_getnote(d, at, &n, &name, &desc)) > 0)
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp((char *)d->d_buf + name, "GNU", 4) &&
		    n.n_descsz <= sizeof(l->build_id)) {
			memcpy(l->build_id, (char *)d->d_buf + desc, n.n_descsz);
			l->build_id_len = n.n_descsz;
		}
}

static void read_name(char *to, size_t room, const Elf_Data *d)
{
	size_t len = d->d_buf ? strnlen(d->d_buf, d->d_size) : 0;

	if (len < room && len < d->d_size)
		memcpy(to, d->d_buf, len + 1);
}

static int read_links(const char *path, struct links *l)
{
	AUTO_CLOSE int fd = io_open_regular(AT_FDCWD, path, O_RDONLY);
	struct elf_names names;
	size_t strndx = 0;
	Elf *elf;

	*l = (struct links){ 0 };
	if (fd < 0)
		return fd;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &strndx) < 0) {
		elf_end(elf);
		return -EBADMSG;
	}
	names = elf_names_of(elf, strndx);
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(s, &h) ? elf_name(&names, h.sh_name) : NULL;
		Elf_Data *d = name && h.sh_type != SHT_NOBITS ? elf_rawdata(s, NULL) : NULL;
		if (!d)
			continue;
		if (h.sh_type == SHT_NOTE && (d = elf_getdata(s, NULL)))
			read_note(l, d);
		else if (!strcmp(name, ".gnu_debuglink"))
			read_name(l->debuglink, sizeof(l->debuglink), d);
		else if (!strcmp(name, ".gnu_debugaltlink"))
			read_name(l->altlink, sizeof(l->altlink), d);
	}
	elf_end(elf);
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void add_dir(struct strbuf *sb, const char *path)
{
	strbuf_add(sb, path, (size_t)(strrchr(path, '/') - path));
}

/* What a debug file shares with others (dwz); archived is where the debug file itself goes. */
static int give_alt(const char *debug, const char *archived, elfdebug_fn *fn, void *arg)
{
	AUTO_STRBUF now = STRBUF_INIT, then = STRBUF_INIT;
	struct links l;

	if (read_links(debug, &l) < 0 || !l.altlink[0])
		return 0;
	if (l.altlink[0] != '/') {
		add_dir(&now, debug);
		add_dir(&then, archived);
		strbuf_addch(&now, '/');
		strbuf_addch(&then, '/');
	}
	strbuf_addstr(&now, l.altlink);
	strbuf_addstr(&then, l.altlink);
	if (now.error || then.error)
		return -ENOMEM;
	return is_file(now.buf) ? fn(arg, now.buf, then.buf) : 0;
}

static int give(const char *debug, const char *archived, elfdebug_fn *fn, void *arg)
{
	int r = fn(arg, debug, archived);

	return r < 0 ? r : give_alt(debug, archived, fn, arg);
}

static int by_build_id(const struct links *l, elfdebug_fn *fn, void *arg, bool *found)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	*found = false;
	if (l->build_id_len < 2)
		return 0;
	strbuf_addf(&sb, DEBUG_ROOT "/.build-id/%02x/", l->build_id[0]);
	for (size_t i = 1; i < l->build_id_len; i++)
		strbuf_addf(&sb, "%02x", l->build_id[i]);
	strbuf_addstr(&sb, ".debug");
	if (sb.error)
		return sb.error;
	*found = is_file(sb.buf);
	return *found ? give(sb.buf, sb.buf, fn, arg) : 0;
}

int elfdebug_each(const char *path, const char *image, elfdebug_fn *fn, void *arg)
{
	static const char *const before[] = { "", "", DEBUG_ROOT }, *const after[] = { "/", "/.debug/", "/" };
	struct links l;
	bool found;
	int r = read_links(path, &l);

	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	r = by_build_id(&l, fn, arg, &found);
	if (r < 0 || found || !l.debuglink[0] || strchr(l.debuglink, '/') || *image != '/' || *path != '/')
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		AUTO_STRBUF now = STRBUF_INIT, then = STRBUF_INIT;
		strbuf_addstr(&now, before[i]);
		add_dir(&now, path);
		strbuf_addf(&now, "%s%s", after[i], l.debuglink);
		/* Beside the binary: the one place that is found whatever directory the archive is moved to. */
		add_dir(&then, image);
		strbuf_addf(&then, "/.debug/%s", l.debuglink);
		if (now.error || then.error)
			return -ENOMEM;
		if (is_file(now.buf) && strcmp(now.buf, path) != 0)
			return give(now.buf, then.buf, fn, arg);
	}
	return 0;
}
