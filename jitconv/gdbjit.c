/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/gdbjit.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "jitconv/foreign.h"
#include "jitconv/seal.h"
#include "lib/elfnames.h"
#include "lib/io.h"
#include "lib/map.h"
#include "lib/strbuf.h"

#define SYMBOL "__jit_debug_descriptor"
#define SYMTAB_MAX ((uint64_t)256 << 20)
#define NO_SYMBOL_CACHE 4096u
#define FULL_WALK_EVERY 20u  /* polls: a change that leaves the descriptor as it was is seen then */
#define ALIGN_TEXT 16u
#define MAX_REGIONS 1000000u

struct region {
	uint64_t addr, size, id, image_offset;
	char *name;
	uint8_t *code;           /* NULL = not readable */
	uint64_t entry;          /* key of the one that it came with; 0 = that one is gone */
};

struct gdbjit {
	int32_t pid;
	uint32_t uid;
	int pidfd;
	bool wide, gone;
	uint64_t at;             /* of the descriptor */
	uint8_t last[24];
	unsigned int polls;
	struct u64map entries;   /* by entry_key -> number of the walk that saw it last, 0 = it is gone */
	uint64_t walk;
	struct region *regions;
	size_t n, room;
	uint64_t bytes, text, nobits, n_events, n_bad;
	jit_event_fn *fn;
	void *arg;
	char why[128];
};

struct entry {
	uint64_t next, object, size;
};

/* An entry's place may be used again for another object before we look. */
static uint64_t entry_key(uint64_t at, const struct entry *e)
{
	uint64_t id[3] = { at, e->object, e->size };

	return util_hash_bytes(id, sizeof(id)) | 1;
}

/* --- the memory of the process --------------------------------------------------------------------------- */

static bool has_ended(const struct gdbjit *g)
{
	struct pollfd p = { .fd = g->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* 0 or -errno. All or nothing; and not of another process that has the number now. */
static int read_mem(const struct gdbjit *g, uint64_t at, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)at, len };
	ssize_t n = process_vm_readv(g->pid, &to, 1, &from, 1, 0);

	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -EFAULT;
	return has_ended(g) ? -ESRCH : 0;
}

static uint64_t word(const struct gdbjit *g, const uint8_t *p, unsigned int nth)
{
	uint64_t v = 0;

	memcpy(&v, p + nth * (g->wide ? 8u : 4u), g->wide ? 8 : 4);
	return v;
}

static int read_descriptor(const struct gdbjit *g, uint8_t d[24])
{
	uint32_t version;
	int r;

	memset(d, 0, 24);
	r = read_mem(g, g->at, d, g->wide ? 24 : 16);
	if (r < 0)
		return r;
	memcpy(&version, d, 4);
	return version == 1 ? 0 : -EPROTONOSUPPORT;
}

static int read_entry(const struct gdbjit *g, uint64_t at, struct entry *e)
{
	uint8_t b[32];
	int r = read_mem(g, at, b, g->wide ? 32 : 20);

	if (r < 0)
		return r;
	e->next = word(g, b, 0);
	e->object = word(g, b, 2);
	memcpy(&e->size, b + (g->wide ? 24 : 12), 8);
	return 0;
}

/* --- regions ---------------------------------------------------------------------------------------------- */

static int emit(struct gdbjit *g, const struct region *r, enum jit_event_type type)
{
	struct jit_event e = { .type = (uint8_t)type, .kind = JIT_METHOD, .tier = -1, .flags = JIT_TIME_UNKNOWN, .time_ns = util_now_ns(),
			       .addr = r->addr, .size = r->size, .id = r->id, .image_offset = r->image_offset, .name = r->name,
			       .name_len = strlen(r->name), .code = r->code, .code_len = r->code ? r->size : 0 };

	if (!r->code)
		e.flags |= JIT_NO_BYTES;
	if (type == JIT_EVENT_UNLOAD)
		e.flags = 0;
	g->n_events++;
	return g->fn(g->arg, &e);
}

static int add_region(struct gdbjit *g, uint64_t entry, uint64_t addr, uint64_t size, const char *name)
{
	struct region r = { .addr = addr, .size = size, .id = g->n + 1, .entry = entry };
	size_t len = strnlen(name, JIT_PARSER_NAME_MAX);

	if (g->n == MAX_REGIONS || g->bytes + size + len > GDBJIT_TOTAL_MAX) {
		g->n_bad++;
		return 0;
	}
	if (g->n == g->room) {
		size_t room = g->room * 2 + 64;
		struct region *more = realloc(g->regions, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->regions = more;
		g->room = room;
	}
	r.name = strndup(name, len);
	r.code = malloc(size);
	if (!r.name || !r.code) {
		free(r.name);
		free(r.code);
		return -ENOMEM;
	}
	if (read_mem(g, addr, r.code, size) < 0) {
		free(r.code);
		r.code = NULL;
	}
	r.image_offset = r.code ? g->text : g->nobits;
	*(r.code ? &g->text : &g->nobits) += ALIGN_UP(size, (uint64_t)ALIGN_TEXT);
	g->bytes += len + (r.code ? size : 0);
	g->regions[g->n++] = r;
	return emit(g, &g->regions[g->n - 1], JIT_EVENT_LOAD);
}

/* The address of a symbol: sections of relocatable objects have theirs in the header. 0 = none. */
static uint64_t symbol_addr(Elf *elf, const GElf_Sym *sym, uint16_t type, uint64_t *end)
{
	Elf_Scn *scn = sym->st_shndx > SHN_UNDEF && sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;
	uint64_t addr;

	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) || !sh.sh_addr)
		return 0;
	addr = type == ET_REL ? sh.sh_addr + sym->st_value : sym->st_value;
	*end = sh.sh_addr + sh.sh_size;
	return addr >= sh.sh_addr && addr < *end ? addr : 0;
}

static int add_symbols(struct gdbjit *g, uint64_t entry, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint16_t type)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	struct elf_names names = elf_names_of(elf, sh->sh_link);

	for (size_t i = 1; i < n && i <= INT32_MAX; i++) {
		uint64_t addr, end;
		const char *name;
		GElf_Sym sym;
		int r;

		if (!gelf_getsym(data, (int)i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		addr = symbol_addr(elf, &sym, type, &end);
		name = elf_name(&names, sym.st_name);
		if (!addr || !name || !*name) {
			g->n_bad++;
			continue;
		}
		r = add_region(g, entry, addr, sym.st_size && sym.st_size <= end - addr ? sym.st_size : end - addr, name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_object(struct gdbjit *g, uint64_t key, const struct entry *e)
{
	AUTO_FREE char *bytes = e->size && e->size <= GDBJIT_OBJECT_MAX ? malloc(e->size) : NULL;
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	Elf *elf;
	int r = 0;

	if (!bytes || read_mem(g, e->object, bytes, e->size) < 0 || !(elf = elf_memory(bytes, e->size))) {
		g->n_bad++;
		return 0;
	}
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh))
		g->n_bad++;
	else
		while (r >= 0 && (scn = elf_nextscn(elf, scn))) {
			GElf_Shdr sh;
			if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
				r = add_symbols(g, key, elf, scn, &sh, eh.e_type);
		}
	elf_end(elf);
	return r;
}

/* Objects that were not met in this walk are no longer registered. */
static int drop_unseen(struct gdbjit *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct region *r = &g->regions[i];
		const uint64_t *seen = r->entry ? u64map_get(&g->entries, r->entry) : NULL;
		int ret;

		if (!seen || *seen == g->walk)
			continue;
		ret = emit(g, r, JIT_EVENT_UNLOAD);
		if (ret < 0)
			return ret;
		r->entry = 0;
	}
	for (size_t it = 0;;) {
		uint64_t key, *v;

		if (!u64map_next(&g->entries, &it, &key, &v))
			return 0;
		if (*v != g->walk)
			*v = 0; /* it may come again */
	}
}

static int walk(struct gdbjit *g, uint64_t first)
{
	uint64_t at = first;

	g->walk++;
	for (unsigned int n = 0; at && n < GDBJIT_MAX_ENTRIES; n++) {
		struct entry e;
		uint64_t *seen, key;
		int r = read_entry(g, at, &e);

		if (r < 0) /* changed under our eyes, or the end: another time */
			return 0;
		key = entry_key(at, &e);
		seen = u64map_at(&g->entries, key);
		if (!seen)
			return -ENOMEM;
		if (*seen == g->walk) /* a ring */
			break;
		if (!*seen) {
			*seen = g->walk;
			r = add_object(g, key, &e);
			if (r < 0)
				return r;
		} else {
			*seen = g->walk;
		}
		at = e.next;
	}
	return drop_unseen(g);
}

/* --- as a jit_source -------------------------------------------------------------------------------------- */

static void src_free(void *impl)
{
	struct gdbjit *g = impl;

	for (size_t i = 0; i < g->n; i++) {
		free(g->regions[i].name);
		free(g->regions[i].code);
	}
	free(g->regions);
	u64map_done(&g->entries);
	if (g->pidfd >= 0)
		close(g->pidfd);
	free(g);
}

static bool src_pending(void *impl)
{
	struct gdbjit *g = impl;
	uint8_t now[24];
	int r;

	if (g->gone)
		return false;
	r = read_descriptor(g, now);
	if (r < 0) {
		g->gone = true;
		return false;
	}
	return memcmp(now, g->last, sizeof(now)) != 0 || ++g->polls % FULL_WALK_EVERY == 0;
}

static int src_poll(void *impl, jit_event_fn *fn, void *arg)
{
	struct gdbjit *g = impl;
	uint64_t before = g->n_events;
	int r;

	if (read_descriptor(g, g->last) < 0) {
		g->gone = true;
		return 0;
	}
	g->fn = fn;
	g->arg = arg;
	r = walk(g, word(g, g->last + 8, 1));
	return r < 0 ? r : (int)MIN(g->n_events - before, (uint64_t)INT32_MAX);
}

static void src_info(void *impl, struct jit_source_info *ret)
{
	const struct gdbjit *g = impl;

	*ret = (struct jit_source_info){ .kind = JIT_SOURCE_GDB, .lag_ns = 100 * NSEC_PER_MSEC, .pid = g->pid, .nspid = g->pid, .uid = g->uid,
					 .heap_bytes = g->bytes, .n_events = g->n_events, .n_bad = g->n_bad };
	snprintf(ret->name, sizeof(ret->name), "GDB JIT interface");
	snprintf(ret->instance, sizeof(ret->instance), "%d-%016" PRIx64, g->pid, util_hash_u64(g->at ^ (uint64_t)(uintptr_t)g));
}

static int add_part(struct gdbjit *g, struct seal *seal, struct strbuf *text, bool code)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct region *r = &g->regions[i];
		struct seal_region out = { .offset = r->image_offset, .size = r->size, .name = r->name, .name_len = strlen(r->name),
					   .no_bytes = !code };
		int ret;

		if ((r->code != NULL) != code)
			continue;
		if (code) {
			size_t at = (size_t)(r->image_offset - JIT_FOREIGN_TEXT);
			if (strbuf_reserve(text, at + r->size - text->len) < 0)
				return -ENOMEM;
			memset(text->buf + text->len, 0, at - text->len);
			text->len = at;
			strbuf_add(text, (char *)r->code, r->size);
		}
		ret = seal_add(seal, &out);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int src_save(void *impl, uint32_t segment, int dirfd, const char *path)
{
	struct gdbjit *g = impl;
	struct seal_opts o = { .name = "GDB JIT interface" };
	struct seal_text t = { .offset = JIT_FOREIGN_TEXT };
	AUTO_STRBUF text = STRBUF_INIT_CAP(2 * GDBJIT_TOTAL_MAX), tmp = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int fd = -1;
	struct seal *seal;
	int r = segment ? -ENOENT : seal_new(&seal, &o);

	if (r < 0)
		return r;
	r = add_part(g, seal, &text, true);
	if (r >= 0)
		r = add_part(g, seal, &text, false);
	t.bytes = text.buf;
	t.len = text.len;
	if (g->nobits != JIT_FOREIGN_NOBITS) {
		t.nobits_offset = JIT_FOREIGN_NOBITS;
		t.nobits_len = g->nobits - JIT_FOREIGN_NOBITS;
	}
	fd = r < 0 ? -1 : io_beside_open(dirfd, path, 0644, &tmp);
	if (r >= 0)
		r = fd < 0 ? fd : io_beside_commit(dirfd, path, &tmp, seal_write(seal, fd, &t));
	seal_free(seal);
	return r;
}

static const char *src_why(void *impl)
{
	struct gdbjit *g = impl;

	snprintf(g->why, sizeof(g->why), "its list of JIT objects cannot be read any more");
	return g->why;
}

/* --- finding the descriptor ------------------------------------------------------------------------------- */

static uint64_t find_symbol(Elf *elf)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		struct elf_names names;
		GElf_Shdr sh;
		Elf_Data *data;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB) || sh.sh_size > SYMTAB_MAX ||
		    !sh.sh_entsize || !(data = elf_getdata(scn, NULL)))
			continue;
		n = MIN(data->d_size / sh.sh_entsize, (size_t)INT32_MAX);
		names = elf_names_of(elf, sh.sh_link);
		for (size_t i = 1; i < n; i++) {
			const char *name;
			GElf_Sym sym;

			if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
				continue;
			name = elf_name(&names, sym.st_name);
			if (name && !strcmp(name, SYMBOL))
				return sym.st_value;
		}
	}
	return 0;
}

/* What has to be added to addresses of the file, given that its byte `off` is mapped executable at `start`. */
static bool load_bias(Elf *elf, uint64_t start, uint64_t off, uint64_t *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < MIN(n, (size_t)64); i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (off + 4096 > ph.p_offset && off < ph.p_offset + ph.p_filesz) {
			*ret = start - (ph.p_vaddr - ph.p_offset + off);
			return true;
		}
	}
	return false;
}

/* Files that were looked through in vain: device, inode, time of change. Single-threaded, as all of this. */
static struct u64map in_vain;

static uint64_t file_key(const struct stat *st)
{
	uint64_t id[4] = { st->st_dev, st->st_ino, (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_size };

	return util_hash_bytes(id, sizeof(id));
}

struct mapping {
	uint64_t start, end, off, ino;
	char path[4096];
};

static bool parse_mapping(const char *line, struct mapping *m)
{
	char perms[8];
	int at = 0;

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &m->start, &m->end, perms, &m->off, &m->ino, &at) == 5 &&
	       at && perms[2] == 'x' && m->ino && line[at] == '/' && (size_t)snprintf(m->path, sizeof(m->path), "%s", line + at) < sizeof(m->path);
}

static int open_mapped(const char *proc_root, int rootfd, int32_t pid, const struct mapping *m, struct stat *st)
{
	char path[256];
	int fd = io_open_regular_in_root(rootfd, m->path, O_RDONLY);

	if (fd >= 0 && fstat(fd, st) == 0 && st->st_ino == m->ino)
		return fd;
	if (fd >= 0)
		close(fd);
	/* Removed or replaced meanwhile: what is mapped is still there. */
	snprintf(path, sizeof(path), "%s/%d/map_files/%" PRIx64 "-%" PRIx64, proc_root, pid, m->start, m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* 1: found; 0: not in this file. */
static int look_into(const char *proc_root, int rootfd, int32_t pid, const struct mapping *m, uint64_t *at, bool *wide)
{
	struct stat st;
	AUTO_CLOSE int fd = open_mapped(proc_root, rootfd, pid, m, &st);
	uint64_t bias, value;
	char *ident;
	Elf *elf;
	int r = 0;

	if (fd < 0 || u64map_get(&in_vain, file_key(&st)))
		return 0;
	elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL); /* read, not mapped: it may be cut */
	ident = elf && elf_kind(elf) == ELF_K_ELF ? elf_getident(elf, NULL) : NULL;
	if (ident) {
		*wide = ident[EI_CLASS] == ELFCLASS64;
		value = find_symbol(elf);
		if (value && load_bias(elf, m->start, m->off, &bias)) {
			*at = value + bias;
			r = 1;
		}
	}
	elf_end(elf);
	if (!r && u64map_size(&in_vain) < NO_SYMBOL_CACHE)
		u64map_put(&in_vain, file_key(&st), 1);
	return r;
}

static int find_descriptor(const char *proc_root, int rootfd, int32_t pid, uint64_t *at, bool *wide)
{
	AUTO_STRBUF path = STRBUF_INIT_CAP(4096), maps = STRBUF_INIT_CAP(16 << 20);
	char *rest, *line;
	uint64_t last = 0;
	struct mapping m;
	int r;

	strbuf_addf(&path, "%s/%d/maps", proc_root, pid);
	r = io_slurp(AT_FDCWD, strbuf_str(&path), &maps);
	if (r < 0 || !maps.len)
		return r < 0 ? r : -ESRCH;
	rest = maps.buf;
	while ((line = strsep(&rest, "\n"))) {
		if (!parse_mapping(line, &m) || m.ino == last)
			continue;
		last = m.ino;
		if (look_into(proc_root, rootfd, pid, &m, at, wide))
			return 0;
	}
	return -ENOENT;
}

static _Thread_local char why_text[256];

int gdbjit_open(struct jit_source **ret, const char *proc_root, int rootfd, int32_t pid, uint32_t uid, const char **why)
{
	static const struct jit_source_ops ops = { src_free, src_pending, src_poll, src_info, src_save, src_why };
	struct gdbjit *g;
	uint8_t d[24];
	int r;

	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	*g = (struct gdbjit){ .pid = pid, .uid = uid, .text = JIT_FOREIGN_TEXT, .nobits = JIT_FOREIGN_NOBITS };
	g->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = g->pidfd < 0 ? -errno : find_descriptor(proc_root, rootfd, pid, &g->at, &g->wide);
	if (r >= 0)
		r = read_descriptor(g, d);
	if (r == -EPERM) {
		snprintf(why_text, sizeof(why_text), "it has GDB's JIT interface, but its memory may not be read: run as root or as its user "
			 "(and with kernel.yama.ptrace_scope 0)");
		*why = why_text;
	}
	if (r < 0) {
		src_free(g);
		return r;
	}
	return jit_source_wrap(ret, &ops, g);
}
