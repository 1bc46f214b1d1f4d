/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HotSpot's dynamic attach protocol, spoken in a child process (control/attach.c is its parent). The request is the protocol's
 * version 1, which JDK 8 to 25 understand: "1\0" command "\0" three arguments each with "\0"; the answer is a status line and
 * text up to the end.
 *
 * As root, directories and the VM's flags are looked at as root, since the target's user need not be allowed to look
 * into /proc/PID; files are made, the agent is looked for and the socket is connected with the target's ids, so that nothing happens
 * there that its user could not do, and since the VM looks at the ids of who connects.
 */
#include "control/attach-impl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "control/hidden.h"
#include "control/jvmflag.h"
#include "lib/io.h"
#include "lib/util.h"

#define ARG_MAX_V1 1024     /* bytes of an argument that version 1 allows */
#define ANSWER_MAX 8192
#define STEP_MS 20
#define LAST_MS 300         /* of waiting when told to end; the parent waits for half a second */
#define ASKED_S 60          /* an attach file that is younger is somebody's who waits, or gave up waiting */

struct target {
	pid_t pid;
	pid_t nspid;         /* as it sees itself */
	uid_t uid;
	gid_t gid;
	char state;          /* R, S, T, Z, … */
	bool catches_quit;
	int root_fd, tmp_fd, cwd_fd;
	char attach_name[32], socket_name[32];
	int attach_dir;      /* where attach_name was made, -1 = nowhere */
	bool asked;          /* SIGQUIT is on its way to it, or has come */
	bool reached;        /* it listens */
	int lock_fd;         /* kept to the end; -1 = none */
	bool other_ids;      /* we are root and it is not */
	bool quiet_only;
	struct jvmflag flag; /* EnableDynamicAgentLoading, marked while the agent loads */
	bool flag_marked;
	char copy_name[64];  /* of the agent, in tmp_fd; "" = none */
	uint64_t deadline_ns;
	unsigned int timeout_ms;
};

static volatile sig_atomic_t told_to_end;

static void on_term(int sig)
{
	told_to_end = 1;
}

struct verdict *verdict_set(struct verdict *v, int result, const char *fmt, ...)
{
	va_list ap;
	v->result = result;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
	return v;
}

static const char *field(const char *status, const char *name)
{
	const char *p = strstr(status, name);
	while (p && p != status && p[-1] != '\n')
		p = strstr(p + 1, name);
	if (!p)
		return "";
	for (p += strlen(name); *p == ' ' || *p == '\t'; p++)
		;
	return p;
}

/* What /proc/PID/status tells. -ESRCH if it is gone. */
static int target_look(struct target *t)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(64 << 10);
	char path[64];
	const char *p, *ids;
	char *end;
	unsigned long uid[2], gid[2];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)t->pid);
	if (io_slurp(AT_FDCWD, path, &sb) < 0 || !sb.len)
		return -ESRCH;
	t->state = *field(strbuf_str(&sb), "State:");
	ids = field(strbuf_str(&sb), "Uid:");
	uid[0] = strtoul(ids, &end, 10);
	uid[1] = strtoul(end, NULL, 10);
	ids = field(strbuf_str(&sb), "Gid:");
	gid[0] = strtoul(ids, &end, 10);
	gid[1] = strtoul(end, NULL, 10);
	t->uid = (uid_t)uid[1]; /* the effective ones */
	t->gid = (gid_t)gid[1];
	t->catches_quit = strtoull(field(strbuf_str(&sb), "SigCgt:"), NULL, 16) >> (SIGQUIT - 1) & 1;
	t->nspid = t->pid;
	for (p = field(strbuf_str(&sb), "NSpid:"); isdigit((unsigned char)*p); p = end) {
		t->nspid = (pid_t)strtol(p, &end, 10); /* the last one is the innermost */
		while (*end == ' ' || *end == '\t')
			end++;
	}
	return 0;
}

static bool maps_have_libjvm(pid_t pid)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16 << 20);
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	/* Unreadable, of a process with capabilities: others may take SIGQUIT for an order. */
	return io_slurp(AT_FDCWD, path, &sb) < 0 ? hidden_is_jvm(pid) : strstr(strbuf_str(&sb), "/libjvm.so") != NULL;
}

static int open_dir_of(pid_t pid, const char *what)
{
	char path[64];
	int fd;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void ids_of_target(const struct target *t)
{
	if (t->other_ids && (setegid(t->gid) < 0 || seteuid(t->uid) < 0))
		_exit(1); /* the parent reports a helper that ended */
}

static void ids_back(const struct target *t)
{
	if (t->other_ids && (seteuid(0) < 0 || setegid(getgid()) < 0))
		_exit(1);
}

static bool time_is_up(const struct target *t)
{
	return told_to_end || util_now_ns() >= t->deadline_ns;
}

static void nap(void)
{
	poll(NULL, 0, STEP_MS);
}

/* Why nothing comes: what its state tells now. */
static struct verdict *no_answer(struct target *t, struct verdict *v, const char *at)
{
	if (target_look(t) < 0 || t->state == 'Z' || t->state == 'X')
		return verdict_set(v, -ESRCH, "process %d ended before it could be attached to", (int)t->pid);
	if (t->state == 'T' || t->state == 't')
		return verdict_set(v, -EBUSY, "process %d is stopped (state %c): let it go on (kill -CONT %d) and attach again",
				   (int)t->pid, t->state, (int)t->pid);
	if (told_to_end)
		return verdict_set(v, -ECANCELED, "attaching to %d was given up", (int)t->pid);
	return verdict_set(v, -ETIMEDOUT, "process %d gave no answer in %u ms while %s: it may be exiting, out of memory, or in a long "
			   "safepoint; attach again or start it with the agent%s%s", (int)t->pid, t->timeout_ms, at,
			   t->asked && !t->reached ? "; it will still look for this file, which stays: " : "",
			   t->asked && !t->reached ? t->attach_name : "");
}

/* Where /tmp is shared by several pid namespaces, the socket may be another VM's of the same number. */
static int check_peer(const struct target *t, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	return peer.pid == t->pid || (peer.pid == 0 && t->root_fd >= 0) ? 0 : -EADDRINUSE;
}

/* Connects to the target's socket. fd, -EAGAIN to try again, or -errno. The working directory is the target's /tmp. */
static int connect_socket(const struct target *t)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	if (fstatat(t->tmp_fd, t->socket_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode))
		return -EAGAIN;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", t->socket_name);
	ids_of_target(t);
	err = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? errno : 0;
	ids_back(t);
	if (!err && (err = -check_peer(t, fd)) == 0)
		return fd;
	close(fd);
	/* Refused: left over by a process that had this pid; the VM replaces it. Full backlog: later. */
	return err == ECONNREFUSED || err == ENOENT || err == EAGAIN ? -EAGAIN : -err;
}

/* Seconds since it began; 0 if that cannot be read. */
static int64_t age_of(pid_t pid)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(4096);
	struct timespec now;
	char path[64];
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	p = io_slurp(AT_FDCWD, path, &sb) < 0 ? NULL : strrchr(strbuf_str(&sb), ')');
	for (int i = 0; p && i < 20; i++) /* the 22nd field */
		p = strchr(p + 1, ' ');
	return p && !clock_gettime(CLOCK_BOOTTIME, &now) ? now.tv_sec - strtoll(p, NULL, 10) / sysconf(_SC_CLK_TCK) : 0;
}

/* Whether somebody asked this process already, not long ago, and it has not seen it yet. */
static bool is_asked(const struct target *t, int dir)
{
	struct stat st;
	int64_t age;

	if (fstatat(dir, t->attach_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_uid != t->uid)
		return false;
	age = time(NULL) - st.st_mtime;
	return age >= 0 && age < ASKED_S && age <= age_of(t->pid) + 1;
}

/*
 * Whether another user's file stands in the working directory, where the VM looks first, and nowhere else then: it would answer with a
 * thread dump. One that its user may take away is.
 */
static bool is_barred(const struct target *t)
{
	struct stat st;

	for (int tries = 0; tries < 2; tries++) {
		if (t->cwd_fd < 0 || fstatat(t->cwd_fd, t->attach_name, &st, 0) < 0 || st.st_uid == t->uid || !st.st_uid)
			return false;
		unlinkat(t->cwd_fd, t->attach_name, 0);
	}
	return true;
}

static int make_attach_file(struct target *t)
{
	const int dirs[] = { t->tmp_fd, t->cwd_fd };
	int err = -EEXIST;
	bool barred;

	ids_of_target(t);
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !t->asked; i++)
		t->asked = dirs[i] >= 0 && is_asked(t, dirs[i]);
	barred = !t->asked && is_barred(t);
	/* Where /tmp is read-only the VM cannot make its socket either. */
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !t->asked && !barred && t->attach_dir < 0 && err != -EROFS; i++) {
		int fd;
		if (dirs[i] < 0)
			continue;
		unlinkat(dirs[i], t->attach_name, 0);
		fd = openat(dirs[i], t->attach_name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0) {
			err = -errno;
			continue;
		}
		close(fd);
		t->attach_dir = dirs[i];
	}
	ids_back(t);
	return t->asked || t->attach_dir >= 0 ? 0 : err;
}

/*
 * With attach disabled the VM would answer SIGQUIT with a thread dump on the program's output. Its flag tells, and where
 * that cannot be read, its command line and environment.
 */
static bool attach_is_off(const struct target *t)
{
	struct jvmflag f;
	return jvmflag_read(&f, t->pid, "DisableAttachMechanism") == 0 ? f.value : jvmflag_asked(t->pid, "DisableAttachMechanism");
}

/*
 * Whether the VM has come up. Signalled before that, it may print a thread dump on the program's output, drop its socket
 * again, or refuse agents. Its last thread to be started is the periodic one; VMs that give threads no names (JDK 8) or have no periodic
 * task get some seconds instead.
 */
static bool vm_is_up(const struct target *t, uint64_t since_ns)
{
	char path[64];
	DIR *dir;
	bool up = false;

	if (util_now_ns() - since_ns > MIN(3000u, t->timeout_ms / 2) * NSEC_PER_MSEC)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	dir = opendir(path);
	for (struct dirent *e; dir && !up && (e = readdir(dir));) {
		AUTO_STRBUF sb = STRBUF_INIT_CAP(64);
		char comm[PATH_MAX];
		snprintf(comm, sizeof(comm), "/proc/%d/task/%s/comm", (int)t->pid, e->d_name);
		up = e->d_name[0] != '.' && io_slurp(AT_FDCWD, comm, &sb) == 0 && !strncmp(strbuf_str(&sb), "VM Periodic", 11);
	}
	if (dir)
		closedir(dir);
	return up;
}

/*
 * A young VM has no signal handler yet, and would die of SIGQUIT. One with -Xrs never has it, but a listener from its youth on: then
 * *fd is the connected socket, else left as it is. False and a verdict if neither comes.
 */
static bool wait_until_up(struct target *t, struct verdict *v, int *fd)
{
	uint64_t since_ns = util_now_ns();

	while (!t->catches_quit || !vm_is_up(t, since_ns)) {
		if (t->state == 'T' || t->state == 't' || t->state == 'Z')
			return no_answer(t, v, "starting"), false;
		nap();
		if (target_look(t) < 0)
			return no_answer(t, v, "starting"), false;
		if (!t->catches_quit && (*fd = connect_socket(t)) != -EAGAIN)
			return true;
		if (!t->catches_quit && time_is_up(t))
			return verdict_set(v, -EOPNOTSUPP, "process %d does not catch SIGQUIT (started with -Xrs?), which would end it: "
					   "start it without -Xrs, or with the agent", (int)t->pid), false;
	}
	if (attach_is_off(t))
		return verdict_set(v, -EOPNOTSUPP, "process %d was started with -XX:+DisableAttachMechanism: start it without, or with the agent",
				   (int)t->pid), false;
	return true;
}

/*
 * Signals, and waits until the socket is there: the fd, -EAGAIN (nothing came) or -errno. Told to end, it gives the VM a moment more.
 * Once, whatever happens: a VM that has its listener, or finds nobody asking for it, answers SIGQUIT with a thread dump.
 */
static int wake(struct target *t)
{
	uint64_t end_ns = t->deadline_ns;
	bool told = false;
	int fd;

	if (!t->asked && kill(t->pid, SIGQUIT) < 0)
		return -errno;
	t->asked = true;
	do {
		nap();
		fd = connect_socket(t);
		if (fd != -EAGAIN)
			return fd;
		if (told_to_end && !told)
			end_ns = MIN(end_ns, util_now_ns() + LAST_MS * NSEC_PER_MSEC);
		told = told_to_end;
	} while (util_now_ns() < end_ns && target_look(t) == 0 && !strchr("ZXTt", t->state));
	return -EAGAIN;
}

/* Waits for the VM's listener, waking it if it does not run yet. The connected socket or -1 and a verdict. */
static int reach(struct target *t, struct verdict *v)
{
	int fd = connect_socket(t), err;

	if (fd == -EAGAIN && !wait_until_up(t, v, &fd))
		return -1;
	if (fd == -EAGAIN) {
		err = make_attach_file(t);
		if (err < 0)
			return verdict_set(v, err, "cannot make %s in the working directory or /tmp of process %d: %s", t->attach_name,
					   (int)t->pid, strerror(-err)), -1;
		fd = wake(t);
	}
	t->reached = fd >= 0;
	if (fd >= 0)
		return fd;
	if (fd == -EAGAIN)
		return no_answer(t, v, "starting its attach listener"), -1;
	if (fd == -EADDRINUSE)
		return verdict_set(v, fd, "%s in the /tmp of process %d is the socket of another process, which has the same number in a "
				   "container: remove it and attach again", t->socket_name, (int)t->pid), -1;
	return verdict_set(v, fd, "cannot signal process %d or connect to %s in its /tmp: %s; attach as its user or as root", (int)t->pid,
			   t->socket_name, strerror(-fd)), -1;
}

static int open_in_root(int root_fd, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		fd = openat(root_fd, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Whether the target's user finds this very file at the same path of its own root. */
static bool agent_visible(const struct target *t, int agent_fd, const char *path)
{
	struct stat here, there;
	bool good;
	int fd;

	if (t->root_fd < 0)
		return true; /* cannot be looked at; the VM will say */
	ids_of_target(t);
	fd = open_in_root(t->root_fd, path);
	ids_back(t);
	good = fd >= 0 && fstat(fd, &there) == 0 && fstat(agent_fd, &here) == 0 && here.st_ino == there.st_ino &&
	       here.st_dev == there.st_dev;
	if (fd >= 0)
		close(fd);
	return good;
}

static int copy_agent(struct target *t, int agent_fd)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	uint64_t random = util_now_ns();
	int fd, err;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random ^= (uint64_t)getpid() << 32;
	err = lseek(agent_fd, 0, SEEK_SET) < 0 ? -errno : io_read_all(agent_fd, &sb);
	if (err < 0)
		return err;
	snprintf(t->copy_name, sizeof(t->copy_name), ".opjit-agent-%016llx.so", (unsigned long long)random);
	ids_of_target(t);
	fd = openat(t->tmp_fd, t->copy_name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0700);
	err = fd < 0 ? -errno : 0;
	ids_back(t);
	if (fd < 0) {
		t->copy_name[0] = 0;
		return err;
	}
	err = io_write_full(fd, sb.buf, sb.len);
	if (!err && fchmod(fd, 0755) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int send_request(int fd, const struct target *t, const char *agent, const char *options)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16 << 10);
	size_t sent = 0;

	strbuf_add(&sb, "1\0load", 7);
	strbuf_add(&sb, agent, strlen(agent) + 1);
	strbuf_add(&sb, "true", 5);
	strbuf_add(&sb, options, strlen(options) + 1);
	if (sb.error)
		return sb.error;
	while (sent < sb.len) {
		ssize_t n = send(fd, sb.buf + sent, sb.len - sent, MSG_NOSIGNAL);
		if (n > 0) {
			sent += (size_t)n;
		} else if (errno == EAGAIN || errno == EINTR) {
			if (time_is_up(t))
				return -ETIMEDOUT;
			nap();
		} else {
			return -errno;
		}
	}
	return 0;
}

static int read_answer(int fd, const struct target *t, struct strbuf *sb)
{
	for (;;) {
		char buf[2048];
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n == 0)
			return 0;
		if (n > 0 && strbuf_add(sb, buf, (size_t)n) < 0)
			return -E2BIG;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (time_is_up(t)) /* also of one that goes on and on */
			return -ETIMEDOUT;
		if (n < 0)
			poll(&p, 1, STEP_MS);
	}
}

/*
 * The VM closed the connection before its answer was whole. Of one that is killed the sockets are closed before its state
 * shows it: it gets a moment.
 */
static struct verdict *broken_off(struct target *t, struct verdict *v, const char *answer)
{
	for (int i = 0; i < 15; i++) {
		if (target_look(t) < 0 || t->state == 'Z' || t->state == 'X')
			return verdict_set(v, -ESRCH, "process %d ended while it was to load the agent", (int)t->pid);
		nap();
	}
	if (!*answer)
		return verdict_set(v, -EPROTO, "process %d closed the connection without an answer; whether it loaded the agent is not known",
				   (int)t->pid);
	return verdict_set(v, -EPROTO, "process %d broke off its answer after %zu bytes; whether it loaded the agent is not known",
			   (int)t->pid, strlen(answer));
}

/* Whether more of the answer should have come: no status line, or "return code: N" cut before its number. */
static bool is_cut(const char *answer)
{
	static const char code[] = "return code: ";
	const char *text = strchr(answer, '\n');
	size_t n;

	if (answer[strspn(answer, "-0123456789")] != '\n')
		return answer[strspn(answer, "-0123456789")] == '\0';
	n = strlen(++text);
	return strtol(answer, NULL, 10) == 0 && (n < sizeof(code) - 1 ? !strncmp(text, code, n) : !strcmp(text + sizeof(code) - 1, "-") ||
						 !strcmp(text, code));
}

static struct verdict *judge(const struct target *t, struct verdict *v, char *answer)
{
	char *text = strchr(answer, '\n'), *end, *code;
	long status = strtol(answer, &end, 10), loaded;

	if (end == answer || !text)
		return verdict_set(v, -EPROTO, "process %d answered nothing that is HotSpot's", (int)t->pid);
	text++;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = p[1] ? ' ' : 0;
	/* JDK 8 answers the agent's return code alone, later ones "return code: N" or what went wrong. */
	code = !strncmp(text, "return code: ", 13) ? text + 13 : text;
	loaded = strtol(code, &end, 10);
	if (status == 0 && end != code && loaded == 0)
		return verdict_set(v, 0, "agent loaded into process %d%s%s", (int)t->pid,
				   t->copy_name[0] ? " from a copy in its /tmp, since it cannot see ours" : "",
				   t->other_ids ? ", as its user" : "");
	if (status == 0 && end != code)
		return verdict_set(v, -ECANCELED, "the agent would not start in process %d (code %ld); log=FILE among its options tells why",
				   (int)t->pid, loaded);
	if (strstr(text, "EnableDynamicAgentLoading"))
		return verdict_set(v, -EOPNOTSUPP, "process %d was started with -XX:-EnableDynamicAgentLoading: start it with the agent",
				   (int)t->pid);
	return verdict_set(v, -ECANCELED, "process %d refused the agent (status %ld): %.300s", (int)t->pid, status, text);
}

static void clean_up(struct target *t)
{
	const int dirs[] = { t->tmp_fd, t->cwd_fd };
	bool done;

	if (t->flag_marked)
		jvmflag_restore(&t->flag);
	/* Asked, and no answer yet: it must still find the file when it wakes. Who attaches next takes it away. */
	done = t->reached || (t->asked && (target_look(t) < 0 || strchr("ZX", t->state)));
	ids_of_target(t);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (dirs[i] >= 0 && (done || (!t->asked && dirs[i] == t->attach_dir)))
			unlinkat(dirs[i], t->attach_name, 0);
	if (t->copy_name[0])
		unlinkat(t->tmp_fd, t->copy_name, 0);
	ids_back(t);
}

/* JDK 21 and later warn on the program's stderr about an agent that comes late, unless told so on the command line. */
static bool make_quiet(struct target *t)
{
	int err = jvmflag_read(&t->flag, t->pid, "EnableDynamicAgentLoading");

	if (err == -ENOENT || (!err && jvmflag_is_set(&t->flag)))
		return true; /* JDK 8, or somebody decided */
	if (!err)
		err = jvmflag_mark_set(&t->flag);
	t->flag_marked = !err;
	return !err;
}

/* Everything that is known without touching it. NULL = go on. */
static struct verdict *look_first(struct target *t, struct verdict *v)
{
	if (target_look(t) < 0)
		return verdict_set(v, -ESRCH, "there is no process %d", (int)t->pid);
	if (t->state == 'Z' || t->state == 'X')
		return verdict_set(v, -ESRCH, "process %d is exiting", (int)t->pid);
	if (t->state == 'T' || t->state == 't')
		return no_answer(t, v, "");
	if (!maps_have_libjvm(t->pid))
		return verdict_set(v, -ENOEXEC, "process %d is no HotSpot JVM (it has no libjvm.so)", (int)t->pid);
	if (geteuid() != 0 && geteuid() != t->uid)
		return verdict_set(v, -EPERM, "process %d belongs to uid %u, this is uid %u: attach as that user or as root", (int)t->pid,
				   (unsigned int)t->uid, (unsigned int)geteuid());
	return NULL;
}

static struct verdict *open_target(struct target *t, struct verdict *v)
{
	t->root_fd = open_dir_of(t->pid, "root");
	t->cwd_fd = open_dir_of(t->pid, "cwd");
	/* A VM with file capabilities hides its root from its own user. */
	if (t->root_fd < 0 && (t->nspid != t->pid || hidden_has_our_tmp(t->pid) < 0))
		return verdict_set(v, t->root_fd, "process %d hides its root from its user (%s), as one with capabilities does, and its /tmp "
				   "is not this one: attach as root, or from where it has its /tmp", (int)t->pid, strerror(-t->root_fd));
	t->tmp_fd = t->root_fd >= 0 ? openat(t->root_fd, "tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)
				    : open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->tmp_fd < 0)
		return verdict_set(v, -errno, "cannot open /tmp as process %d has it: %s", (int)t->pid, strerror(errno));
	if (fchdir(t->tmp_fd) < 0)
		return verdict_set(v, -errno, "cannot enter /tmp as process %d has it: %s", (int)t->pid, strerror(errno));
	snprintf(t->attach_name, sizeof(t->attach_name), ".attach_pid%d", (int)t->nspid);
	snprintf(t->socket_name, sizeof(t->socket_name), ".java_pid%d", (int)t->nspid);
	return NULL;
}

/* One request. False if the VM is too young for it and there is time left. */
static bool request(struct target *t, struct verdict *v, const char *agent, const char *options)
{
	AUTO_STRBUF answer = STRBUF_INIT_CAP(ANSWER_MAX);
	AUTO_CLOSE int fd = reach(t, v);
	int err;

	if (fd < 0)
		return true;
	if (!t->flag_marked && !make_quiet(t) && t->quiet_only) {
		verdict_set(v, -EOPNOTSUPP, "process %d would warn on its stderr of an agent that comes late, and its flag "
			    "EnableDynamicAgentLoading cannot be reached: start it with the agent", (int)t->pid);
		return true;
	}
	err = send_request(fd, t, agent, options);
	if (!err)
		err = read_answer(fd, t, &answer);
	if (!err && answer.len && strstr(answer.buf, "live phase") && !time_is_up(t))
		return false;
	if (err == -ETIMEDOUT) {
		no_answer(t, v, "loading the agent");
		t->flag_marked = false; /* it may load it yet, and has to find the flag then */
	} else if (err == -E2BIG) {
		verdict_set(v, -EPROTO, "process %d answered more than %d bytes, which is not HotSpot's way", (int)t->pid, ANSWER_MAX);
	} else if (err == -ECONNRESET || err == -EPIPE || (!err && is_cut(strbuf_str(&answer)))) {
		broken_off(t, v, strbuf_str(&answer));
	} else if (err < 0) {
		verdict_set(v, err, "the connection to process %d broke: %s", (int)t->pid, strerror(-err));
	} else {
		judge(t, v, answer.buf);
	}
	return true;
}

/*
 * One of us at a time: who comes second finds the listener there, and the VM's flag as it was. False if the other one takes too
 * long. The lock is of a file that nobody else can open, so that nobody else can hold it; where we cannot either, without.
 */
static bool lock_target(struct target *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)t->pid);
	t->lock_fd = open(path, O_RDONLY | O_CLOEXEC);
	while (t->lock_fd >= 0 && flock(t->lock_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		if (time_is_up(t))
			return false;
		nap();
	}
	return true;
}

static void run(struct target *t, struct verdict *v, const char *agent, const char *options)
{
	AUTO_CLOSE int agent_fd = open(agent, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char copy[96];
	int err;

	if (agent_fd < 0) {
		verdict_set(v, -errno, "cannot open the agent %s: %s", agent, strerror(errno));
		return;
	}
	if (strlen(agent) > ARG_MAX_V1 || strlen(options) > ARG_MAX_V1) {
		verdict_set(v, -E2BIG, "the path or options of the agent are over the %d bytes that the attach protocol allows", ARG_MAX_V1);
		return;
	}
	if (look_first(t, v))
		return;
	t->other_ids = geteuid() == 0 && (t->uid != 0 || t->gid != getegid());
	if (t->other_ids && setgroups(0, NULL) < 0) {
		verdict_set(v, -errno, "cannot take the ids of process %d (uid %u): %s", (int)t->pid, (unsigned int)t->uid, strerror(errno));
		return;
	}
	if (open_target(t, v))
		return;
	if (!lock_target(t)) {
		no_answer(t, v, "somebody else attached to it");
		return;
	}
	if (!agent_visible(t, agent_fd, agent)) {
		err = copy_agent(t, agent_fd);
		if (err < 0) {
			verdict_set(v, err, "process %d cannot read %s, and it cannot be copied into its /tmp: %s", (int)t->pid, agent,
				    strerror(-err));
			return;
		}
		snprintf(copy, sizeof(copy), "/tmp/%s", t->copy_name);
		agent = copy;
	}
	/* A VM that listens but is not live yet says so, and is asked again. */
	while (!request(t, v, agent, options))
		nap();
}

_Noreturn void attach_child(int fd, pid_t pid, const char *agent, const char *options, unsigned int timeout_ms, bool quiet_only)
{
	struct target t = { .pid = pid, .timeout_ms = timeout_ms, .root_fd = -1, .tmp_fd = -1, .cwd_fd = -1, .attach_dir = -1, .lock_fd = -1,
			    .quiet_only = quiet_only };
	struct sigaction sa = { .sa_handler = on_term };
	struct verdict v = { .result = -EIO };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = SIG_IGN; /* the terminal's signals are the parent's business */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGQUIT, &sa, NULL);
	sigaction(SIGPIPE, &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	t.deadline_ns = util_now_ns() + timeout_ms * NSEC_PER_MSEC;
	run(&t, &v, agent, options);
	clean_up(&t);
	io_write_full(fd, &v, sizeof(v));
	_exit(0);
}
