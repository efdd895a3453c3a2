/* Calls of libc by which a process reads or changes files, with a fault at the n-th of them.
 *
 * Loaded with LD_PRELOAD. The control block is a file that every process of a run maps, children of git included, so
 * that there is one count for all of them. Only files below the root of the run count, and of the calls to them those
 * that the run asks for.
 *
 * A write of more than one byte has two boundaries: before it, and in its middle. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OFF, KILL_ALL, KILL_ONE, FAIL, HOLD };
enum { ALL_CHANGES, READS_TOO, RENAMES_ALONE, CLOCKS_ALONE };

struct control {
    int armed;      /* what happens, one of the above */
    int error;      /* errno of FAIL */
    int sticky;     /* every later call fails as well */
    int calls;      /* which ones count, one of the below */
    int no_sync;    /* fsync does nothing, whether a fault is to come or not */
    int at;         /* the call, from 1 */
    int count;
    int process;    /* whose call was the first */
    int held;       /* a process is held at the call, as long as this is set */
    int several;    /* whether another process made one */
    long long clock_jump; /* seconds that clocks and times of files jump from that call on */
    char last[64];
    char names[1024][16]; /* of the first calls */
    char root[PATH_MAX];
};

static struct control *control;
static size_t root_length;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("FAULTS_CONTROL");
    if (!name) return;
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int descriptor = real(name, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(descriptor);
}

static int below(const char *path) {
    root_length = strlen(control->root);
    return strncmp(path, control->root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

static int fd_below(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    static ssize_t (*real)(const char *, char *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "readlink");
    ssize_t length = real(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

static int at_below(int folder, const char *path) {
    if (!path) return 0;
    if (path[0] == '/') return below(path);
    if (folder != AT_FDCWD) return fd_below(folder);
    char here[PATH_MAX];
    return getcwd(here, sizeof here) && below(here);
}

enum { READS, CHANGES, RENAMES, CLOCKS };

static int counts(int kind) {
    switch (control->calls) {
    case CLOCKS_ALONE: return kind == CLOCKS;
    case RENAMES_ALONE: return kind == RENAMES;
    case READS_TOO: return kind != CLOCKS;
    default: return kind == CHANGES || kind == RENAMES;
    }
}

static int next_number(const char *name) {
    int number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    if (number <= 1024) snprintf(control->names[number - 1], sizeof control->names[0], "%s", name);
    return number;
}

/* Return 1 when this call is to fail; does not return when the process dies here. */
static int trip(const char *name, int kind) {
    if (!counts(kind)) return 0;
    int nobody = 0, self = getpid();
    if (!__atomic_compare_exchange_n(&control->process, &nobody, self, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
        && nobody != self)
        control->several = 1;
    int number = next_number(name);
    if (number != control->at && !(control->sticky && number > control->at)) return 0;
    if (number == control->at) snprintf(control->last, sizeof control->last, "%s", name);
    if (control->armed == KILL_ALL) { kill(0, SIGKILL); for (;;) pause(); }
    if (control->armed == KILL_ONE) { kill(getpid(), SIGKILL); for (;;) pause(); }
    if (control->armed == HOLD) {
        __atomic_store_n(&control->held, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&control->held, __ATOMIC_SEQ_CST)) usleep(500);
    }
    if (control->error == 0) return 0;
    errno = control->error;
    return 1;
}

#define ON (control && control->armed)
#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define AT(name, kind, folder, path, call) \
    REAL(name); \
    if (ON && at_below(folder, path) && trip(#name, kind)) return -1; \
    return call
#define FD(name, kind, descriptor, call) \
    REAL(name); \
    if (ON && fd_below(descriptor) && trip(#name, kind)) return -1; \
    return call

static int kind_of(int flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) ? CHANGES : READS;
}

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) { MODE AT(open, kind_of(flags), AT_FDCWD, path, real(path, flags, mode)); }
int open64(const char *path, int flags, ...) { MODE AT(open64, kind_of(flags), AT_FDCWD, path, real(path, flags, mode)); }
int openat(int folder, const char *path, int flags, ...) { MODE AT(openat, kind_of(flags), folder, path, real(folder, path, flags, mode)); }
int openat64(int folder, const char *path, int flags, ...) { MODE AT(openat64, kind_of(flags), folder, path, real(folder, path, flags, mode)); }
int creat(const char *path, mode_t mode) { AT(creat, CHANGES, AT_FDCWD, path, real(path, mode)); }

#define STREAM(name) FILE *name(const char *path, const char *mode) { \
    REAL(name); \
    int kind = strpbrk(mode, "wa+") ? CHANGES : READS; \
    if (ON && at_below(AT_FDCWD, path) && trip(#name, kind)) \
        return NULL; \
    return real(path, mode); \
}
STREAM(fopen)
STREAM(fopen64)
int fclose(FILE *file) {
    REAL(fclose);
    int written = ON && fd_below(fileno(file)) && (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY;
    int failed = written && trip("fclose", CHANGES);
    int error = errno, status = real(file);
    if (!failed) return status;
    errno = error;
    return EOF;
}
int fflush(FILE *file) { REAL(fflush); if (file && ON && fd_below(fileno(file)) && trip("fflush", CHANGES)) return EOF; return real(file); }

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(write);
    if (!ON || !fd_below(descriptor)) return real(descriptor, bytes, size);
    if (trip("write", CHANGES)) return -1;
    if (size < 2 || !counts(CHANGES)) return real(descriptor, bytes, size);
    if (control->count + 1 != control->at) {
        next_number("half a write");
        return real(descriptor, bytes, size);
    }
    ssize_t written = real(descriptor, bytes, size / 2);
    if (control->armed == FAIL) {
        /* A disk that is nearly full takes a part, and the next call fails. */
        next_number("half a write");
        control->at++;
        return written;
    }
    trip("half a write", CHANGES);
    return written;
}
ssize_t pwrite64(int d, const void *b, size_t n, off64_t o) { FD(pwrite64, CHANGES, d, real(d, b, n, o)); }
ssize_t writev(int d, const struct iovec *v, int n) { FD(writev, CHANGES, d, real(d, v, n)); }
ssize_t copy_file_range(int i, off64_t *a, int o, off64_t *b, size_t n, unsigned f) { FD(copy_file_range, CHANGES, o, real(i, a, o, b, n, f)); }
#include <sys/sendfile.h>
ssize_t sendfile(int o, int i, off_t *a, size_t n) { FD(sendfile, CHANGES, o, real(o, i, a, n)); }
ssize_t sendfile64(int o, int i, off64_t *a, size_t n) { FD(sendfile64, CHANGES, o, real(o, i, a, n)); }
ssize_t read(int d, void *b, size_t n) { FD(read, READS, d, real(d, b, n)); }
ssize_t pread64(int d, void *b, size_t n, off64_t o) { FD(pread64, READS, d, real(d, b, n, o)); }

int rename(const char *a, const char *b) { AT(rename, RENAMES, AT_FDCWD, b, real(a, b)); }
int renameat(int f, const char *a, int g, const char *b) { AT(renameat, RENAMES, g, b, real(f, a, g, b)); }
int renameat2(int f, const char *a, int g, const char *b, unsigned x) { AT(renameat2, RENAMES, g, b, real(f, a, g, b, x)); }
int link(const char *a, const char *b) { AT(link, CHANGES, AT_FDCWD, b, real(a, b)); }
int linkat(int f, const char *a, int g, const char *b, int x) { AT(linkat, CHANGES, g, b, real(f, a, g, b, x)); }
int symlink(const char *a, const char *b) { AT(symlink, CHANGES, AT_FDCWD, b, real(a, b)); }
int symlinkat(const char *a, int g, const char *b) { AT(symlinkat, CHANGES, g, b, real(a, g, b)); }
int unlink(const char *a) { AT(unlink, CHANGES, AT_FDCWD, a, real(a)); }
int unlinkat(int f, const char *a, int x) { AT(unlinkat, CHANGES, f, a, real(f, a, x)); }
int rmdir(const char *a) { AT(rmdir, CHANGES, AT_FDCWD, a, real(a)); }
int mkdir(const char *a, mode_t m) { AT(mkdir, CHANGES, AT_FDCWD, a, real(a, m)); }
int mkdirat(int f, const char *a, mode_t m) { AT(mkdirat, CHANGES, f, a, real(f, a, m)); }
int truncate64(const char *a, off64_t n) { AT(truncate64, CHANGES, AT_FDCWD, a, real(a, n)); }
int ftruncate(int d, off_t n) { FD(ftruncate, CHANGES, d, real(d, n)); }
int ftruncate64(int d, off64_t n) { FD(ftruncate64, CHANGES, d, real(d, n)); }
int chmod(const char *a, mode_t m) { AT(chmod, CHANGES, AT_FDCWD, a, real(a, m)); }
int fchmod(int d, mode_t m) { FD(fchmod, CHANGES, d, real(d, m)); }
int fchmodat(int f, const char *a, mode_t m, int x) { AT(fchmodat, CHANGES, f, a, real(f, a, m, x)); }
int fchown(int d, uid_t u, gid_t g) { FD(fchown, CHANGES, d, real(d, u, g)); }
int utimensat(int f, const char *a, const struct timespec t[2], int x) { AT(utimensat, CHANGES, f, a, real(f, a, t, x)); }
int fsync(int d) { REAL(fsync); if (ON && fd_below(d) && trip("fsync", CHANGES)) return -1; return control && control->no_sync ? 0 : real(d); }
int fdatasync(int d) { REAL(fdatasync); if (ON && fd_below(d) && trip("fdatasync", CHANGES)) return -1; return control && control->no_sync ? 0 : real(d); }

/* Tell whether the time that is asked for now is from behind the jump. */
static int jumps(const char *name) {
    if (!ON || control->calls != CLOCKS_ALONE) return 0;
    trip(name, CLOCKS);
    return control->count >= control->at;
}
/* Times of files jump with the clock: of any file, since the package's own are asked for theirs as well. */
#define STAT(name, folder, path, call) \
    REAL(name); \
    if (ON && control->calls == READS_TOO && at_below(folder, path) && trip(#name, READS)) return -1; \
    int status = call; \
    if (status == 0 && jumps(#name)) { s->st_mtim.tv_sec += control->clock_jump; s->st_ctim.tv_sec += control->clock_jump; } \
    return status
int stat(const char *a, struct stat *s) { STAT(stat, AT_FDCWD, a, real(a, s)); }
int lstat(const char *a, struct stat *s) { STAT(lstat, AT_FDCWD, a, real(a, s)); }
int fstatat(int f, const char *a, struct stat *s, int x) { STAT(fstatat, f, a, real(f, a, s, x)); }
int stat64(const char *a, struct stat64 *s) { STAT(stat64, AT_FDCWD, a, real(a, s)); }
int lstat64(const char *a, struct stat64 *s) { STAT(lstat64, AT_FDCWD, a, real(a, s)); }
int fstatat64(int f, const char *a, struct stat64 *s, int x) { STAT(fstatat64, f, a, real(f, a, s, x)); }
DIR *opendir(const char *a) { REAL(opendir); if (ON && at_below(AT_FDCWD, a) && trip("opendir", READS)) return NULL; return real(a); }
DIR *fdopendir(int d) { REAL(fdopendir); if (ON && fd_below(d) && trip("fdopendir", READS)) return NULL; return real(d); }
struct dirent64 *readdir64(DIR *d) { REAL(readdir64); if (ON && fd_below(dirfd(d)) && trip("readdir64", READS)) return NULL; return real(d); }

int clock_gettime(clockid_t which, struct timespec *now) {
    REAL(clock_gettime);
    int status = real(which, now);
    if (status == 0 && which == CLOCK_REALTIME && jumps("clock_gettime")) now->tv_sec += control->clock_jump;
    return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    int status = real(now, zone);
    if (status == 0 && now && jumps("gettimeofday")) now->tv_sec += control->clock_jump;
    return status;
}
time_t time(time_t *told) {
    REAL(time);
    time_t now = real(NULL) + (jumps("time") ? control->clock_jump : 0);
    if (told) *told = now;
    return now;
}
