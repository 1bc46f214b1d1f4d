/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An archive of any bytes is unpacked below its directory or refused. */
#include <assert.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/io.h"
#include "session/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char dir[] = "/tmp/fuzz-tar.XXXXXX";
	AUTO_CLOSE int in = memfd_create("tar", MFD_CLOEXEC), out = -1;
	AUTO_STRBUF why = STRBUF_INIT;

	if (in < 0 || io_write_full(in, data, size) < 0 || lseek(in, 0, SEEK_SET) < 0 || !mkdtemp(dir))
		return 0;
	out = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out >= 0)
		assert(tar_unpack(in, out, &why) == 0 || why.len);
	(void)io_remove_tree(AT_FDCWD, dir, NULL, NULL);
	return 0;
}
