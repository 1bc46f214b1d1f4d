/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_ELFNAMES_H
#define OPJIT_LIB_ELFNAMES_H
/*
 * Names out of an ELF file's string table. elf_strptr() looks for the end of the table's last string each time, from behind:
 * in a table that does not end with a NUL each name costs the size of the table. Here it is looked for once.
 */
#include <libelf.h>
#include <string.h>

struct elf_names {
	const char *text; /* the Elf's; not to be used after elf_end() */
	size_t len;       /* with the last NUL; 0 = there is no table */
};

static inline struct elf_names elf_names_of(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;
	const char *end = d && d->d_buf && d->d_size ? (const char *)memrchr(d->d_buf, 0, d->d_size) : NULL;

	return end ? (struct elf_names){ (const char *)d->d_buf, (size_t)(end - (const char *)d->d_buf) + 1 } : (struct elf_names){ 0 };
}

/* NULL: there is none at that offset. */
static inline const char *elf_name(const struct elf_names *n, uint64_t offset)
{
	return offset < n->len ? n->text + offset : NULL;
}
#endif
