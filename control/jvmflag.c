/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/jvmflag.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "lib/elfnames.h"
#include "lib/io.h"
#include "lib/util.h"

#define MAX_ENTRIES 20000
#define MAX_FLAGS 10000
#define ORIGIN_MASK 15u /* of JVMFlag::_flags; the same since JDK 9 */
#define ORIGIN_DEFAULT 0u
#define ORIGIN_COMMAND_LINE (1u | 1u << 17) /* the second stays even if something else changes the flag later */

struct view {
	pid_t pid;
	uint64_t bias;
	int fd;
	Elf *elf;
	Elf_Data *symbols;
	size_t n_symbols;
	struct elf_names names;
};

static void view_done(struct view *v)
{
	if (v->elf)
		elf_end(v->elf);
	if (v->fd >= 0)
		close(v->fd);
}

static int peek(pid_t pid, uint64_t addr, void *to, size_t n)
{
	struct iovec l = { to, n }, r = { (void *)(uintptr_t)addr, n };
	ssize_t got = process_vm_readv(pid, &l, 1, &r, 1, 0);
	return got == (ssize_t)n ? 0 : got < 0 ? -errno : -EFAULT;
}

/* A string of at most room - 1 bytes; pages are read apart, for it may lie at the end of a mapping. */
static int peek_text(pid_t pid, uint64_t addr, char *to, size_t room)
{
	for (size_t n = 0; n < room - 1;) {
		size_t piece = MIN(4096 - (addr + n) % 4096, room - 1 - n);
		int err = peek(pid, addr + n, to + n, piece);
		if (err < 0)
			return err;
		if (memchr(to + n, 0, piece))
			return 0;
		n += piece;
	}
	to[room - 1] = 0;
	return 0;
}

/* Where libjvm.so's first byte is mapped, and its path as the process has it. */
static int find_libjvm(pid_t pid, uint64_t *base, char *path, size_t room)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16 << 20);
	char name[64], *line, *next;
	int err;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	err = io_slurp(AT_FDCWD, name, &sb);
	if (err < 0)
		return err;
	for (line = sb.buf; line && *line; line = next) {
		uint64_t start, offset;
		char *slash;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		slash = strchr(line, '/');
		if (!slash || strlen(slash) < 10 || strcmp(slash + strlen(slash) - 10, "/libjvm.so") ||
		    sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &start, &offset) != 2 || offset)
			continue;
		*base = start;
		snprintf(path, room, "%s", slash);
		return 0;
	}
	return -ENOENT;
}

static int view_open(struct view *v, pid_t pid)
{
	char path[PATH_MAX], full[PATH_MAX + 64];
	Elf_Scn *section = NULL;
	uint64_t base;
	GElf_Phdr ph;
	size_t n;
	int err = find_libjvm(pid, &base, path, sizeof(path));

	if (err < 0)
		return err;
	snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path);
	v->pid = pid;
	v->fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (v->fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	v->elf = elf_begin(v->fd, ELF_C_READ_MMAP, NULL);
	if (!v->elf || gelf_getclass(v->elf) != ELFCLASS64 || elf_getphdrnum(v->elf, &n) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(v->elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_offset < 4096)
			v->bias = base - (ph.p_vaddr - ph.p_offset);
	while ((section = elf_nextscn(v->elf, section))) {
		GElf_Shdr sh;
		if (gelf_getshdr(section, &sh) && sh.sh_type == SHT_DYNSYM && sh.sh_entsize) {
			v->symbols = elf_getdata(section, NULL);
			v->n_symbols = sh.sh_size / sh.sh_entsize;
			v->names = elf_names_of(v->elf, sh.sh_link);
			return v->symbols && v->n_symbols < INT_MAX ? 0 : -ENOEXEC;
		}
	}
	return -ENOEXEC;
}

struct wanted { /* variables of libjvm, 8 bytes each */
	const char *name;
	uint64_t value;
	bool found;
};

static int read_variables(const struct view *v, struct wanted *w, size_t n)
{
	for (size_t s = 0; s < v->n_symbols; s++) {
		GElf_Sym sym;
		const char *name;
		if (!gelf_getsym(v->symbols, (int)s, &sym) || !sym.st_value || !(name = elf_name(&v->names, sym.st_name)) ||
		    strncmp(name, "gHotSpotVM", 10))
			continue;
		for (size_t i = 0; i < n; i++) {
			int err;
			if (strcmp(w[i].name, name))
				continue;
			err = peek(v->pid, v->bias + sym.st_value, &w[i].value, 8);
			if (err < 0)
				return err;
			w[i].found = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (!w[i].found)
			return -ENOENT;
	return 0;
}

enum { STRUCTS, S_STRIDE, S_TYPE, S_FIELD, S_OFFSET, S_ADDRESS, TYPES, T_STRIDE, T_NAME, T_SIZE, N_WANTED };

struct layout {
	uint64_t flags, n_flags, stride, name, addr, origin;
};

struct sought { /* a field of JVMFlag */
	const char *name;
	bool is_static, found;
	uint64_t value; /* offset, or the address of a static one */
};

/* An entry of a table whose name at `at` is `name`: its bytes to entry. 1, 0 at the end of the table, else -EPROTO. */
static int table_next(const struct view *v, uint64_t table, uint64_t stride, uint64_t at, const char *name, uint64_t *i, char *entry)
{
	char text[16];
	uint64_t p;

	for (; *i < MAX_ENTRIES; ) {
		if (peek(v->pid, table + *i * stride, entry, stride) < 0)
			return -EPROTO;
		++*i;
		memcpy(&p, entry + at, 8);
		if (!p)
			return 0;
		if (peek_text(v->pid, p, text, sizeof(text)) == 0 && !strcmp(text, name))
			return 1;
	}
	return 0;
}

static int find_flag_fields(const struct view *v, const struct wanted *w, struct sought *f, size_t n)
{
	char entry[256], text[16];
	uint64_t i = 0, p;
	int r;

	while ((r = table_next(v, w[STRUCTS].value, w[S_STRIDE].value, w[S_TYPE].value, "JVMFlag", &i, entry)) > 0) {
		memcpy(&p, entry + w[S_FIELD].value, 8);
		if (peek_text(v->pid, p, text, sizeof(text)) < 0)
			continue;
		for (size_t k = 0; k < n; k++) {
			if (strcmp(text, f[k].name))
				continue;
			memcpy(&f[k].value, entry + w[f[k].is_static ? S_ADDRESS : S_OFFSET].value, 8);
			f[k].found = true;
		}
	}
	for (size_t k = 0; k < n && !r; k++)
		if (!f[k].found)
			r = -ENOENT;
	return r;
}

static bool layout_is_sane(const struct layout *l)
{
	return l->stride >= 16 && l->stride <= 256 && l->n_flags <= MAX_FLAGS && l->name <= l->stride - 8 && l->addr <= l->stride - 8 &&
	       l->origin <= l->stride - 4;
}

static int find_layout(const struct view *v, struct layout *l)
{
	struct wanted w[N_WANTED] = {
		[STRUCTS] = { "gHotSpotVMStructs" }, [S_STRIDE] = { "gHotSpotVMStructEntryArrayStride" },
		[S_TYPE] = { "gHotSpotVMStructEntryTypeNameOffset" }, [S_FIELD] = { "gHotSpotVMStructEntryFieldNameOffset" },
		[S_OFFSET] = { "gHotSpotVMStructEntryOffsetOffset" }, [S_ADDRESS] = { "gHotSpotVMStructEntryAddressOffset" },
		[TYPES] = { "gHotSpotVMTypes" }, [T_STRIDE] = { "gHotSpotVMTypeEntryArrayStride" },
		[T_NAME] = { "gHotSpotVMTypeEntryTypeNameOffset" }, [T_SIZE] = { "gHotSpotVMTypeEntrySizeOffset" },
	};
	struct sought f[] = { { "flags", true }, { "numFlags", true }, { "_name" }, { "_addr" }, { "_flags" } };
	char entry[256];
	uint64_t i = 0;
	int err = read_variables(v, w, N_WANTED);

	if (err < 0)
		return err;
	for (size_t k = S_STRIDE; k < N_WANTED; k++)
		if (k != TYPES && w[k].value > sizeof(entry) - 8)
			return -EPROTO;
	if (w[S_STRIDE].value < 8 || w[T_STRIDE].value < 8)
		return -EPROTO;
	err = find_flag_fields(v, w, f, ARRAY_SIZE(f));
	if (err < 0)
		return err;
	if (table_next(v, w[TYPES].value, w[T_STRIDE].value, w[T_NAME].value, "JVMFlag", &i, entry) <= 0)
		return -ENOENT;
	memcpy(&l->stride, entry + w[T_SIZE].value, 8);
	if (peek(v->pid, f[0].value, &l->flags, 8) < 0 || peek(v->pid, f[1].value, &l->n_flags, 8) < 0)
		return -EPROTO;
	l->name = f[2].value;
	l->addr = f[3].value;
	l->origin = f[4].value;
	return layout_is_sane(l) ? 0 : -EPROTO;
}

int jvmflag_read(struct jvmflag *ret, pid_t pid, const char *wanted)
{
	AUTO(view_done) struct view v = { .fd = -1 };
	AUTO_FREE char *all = NULL;
	struct layout l;
	char text[64];
	int err = view_open(&v, pid);

	if (!err)
		err = find_layout(&v, &l);
	if (err < 0)
		return err;
	all = malloc(l.n_flags * l.stride + 1);
	if (!all)
		return -ENOMEM;
	err = peek(pid, l.flags, all, l.n_flags * l.stride);
	if (err < 0)
		return err;
	for (uint64_t i = 0; i < l.n_flags; i++) {
		const char *e = all + i * l.stride;
		uint64_t name, addr;
		uint8_t value;
		memcpy(&name, e + l.name, 8);
		if (!name || peek_text(pid, name, text, sizeof(text)) < 0 || strcmp(text, wanted))
			continue;
		memcpy(&addr, e + l.addr, 8);
		err = peek(pid, addr, &value, 1);
		if (err < 0 || value > 1)
			return err < 0 ? err : -EPROTO;
		*ret = (struct jvmflag){ .pid = pid, .value_addr = addr, .origin_addr = l.flags + i * l.stride + l.origin, .value = value };
		memcpy(&ret->origin_word, e + l.origin, 4);
		return 0;
	}
	return -ENOENT;
}

bool jvmflag_is_set(const struct jvmflag *f)
{
	return (f->origin_word & ORIGIN_MASK) != ORIGIN_DEFAULT;
}

static int poke(const struct jvmflag *f, uint32_t expected, uint32_t value)
{
	struct iovec l = { &value, 4 }, r = { (void *)(uintptr_t)f->origin_addr, 4 };
	uint32_t now;
	int err = peek(f->pid, f->origin_addr, &now, 4);

	if (err < 0)
		return err;
	if (now != expected)
		return -EBUSY;
	return process_vm_writev(f->pid, &l, 1, &r, 1, 0) == 4 ? 0 : -errno;
}

int jvmflag_mark_set(const struct jvmflag *f)
{
	/* Only a word that reads like a flag at its default: no origin, and none of the high bits that tell of the command line. */
	if (jvmflag_is_set(f) || f->origin_word >> 17)
		return -EPROTO;
	return poke(f, f->origin_word, f->origin_word | ORIGIN_COMMAND_LINE);
}

void jvmflag_restore(const struct jvmflag *f)
{
	if (!jvmflag_is_set(f))
		poke(f, f->origin_word | ORIGIN_COMMAND_LINE, f->origin_word);
}

bool jvmflag_asked(pid_t pid, const char *name)
{
	static const char *const files[] = { "environ", "cmdline" };
	bool on = false;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_STRBUF sb = STRBUF_INIT_CAP(4 << 20);
		char path[64], plus[96], minus[96];

		snprintf(plus, sizeof(plus), "-XX:+%s", name);
		snprintf(minus, sizeof(minus), "-XX:-%s", name);
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
		if (io_slurp(AT_FDCWD, path, &sb) < 0)
			continue;
		for (size_t at = 0; at < sb.len; at += strlen(sb.buf + at) + 1) {
			const char *word = sb.buf + at;

			if (i == 0 && strncmp(word, "JAVA_TOOL_OPTIONS=", 18) && strncmp(word, "JDK_JAVA_OPTIONS=", 17) &&
			    strncmp(word, "_JAVA_OPTIONS=", 14))
				continue;
			if (strstr(word, plus))
				on = true;
			if (strstr(word, minus))
				on = false;
		}
	}
	return on;
}
