/* A strict stand-in for the virtual memory calls of the CUDA driver (libcuda.so.1), on the memory of the host.

   Every handle is a memfd, every mapping maps it, and whatever is reserved but not mapped, or mapped without access,
   faults when it is touched. A wrong call gets the status that the driver gives, and a line in the report. */
#define _GNU_SOURCE
#include "simulator.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    uintptr_t start;
    size_t size;
    size_t handle;  /* of a mapping: index + 1 of its handle */
    bool accessible;
} Range;

typedef struct {
    Range *items;
    size_t count, room;
} Ranges;

typedef struct {
    int file;
    size_t size;
    int mappings;
    bool released;
} Handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Ranges reservations, mappings, device_blocks, host_blocks;
static Handle *handles;
static size_t handle_count, handle_room;
static size_t device_bytes, host_bytes, host_peak, misuses;
static size_t granularity, device_limit, host_limit;
static int devices = 1, rdma = 0, report_file = -1;
static struct sigaction fault_before;

/* --- the report ------------------------------------------------------------------------------------------------- */

static void tell(const char *kind, const char *call, const char *text) {
    char line[512];
    int size = snprintf(line, sizeof line, "%s %s: %s\n", kind, call, text);
    if (size >= (int)sizeof line) size = sizeof line - 1;
    if (report_file >= 0 && write(report_file, line, size) < 0) report_file = -1;
    fprintf(stderr, "[patchkit simulator] %s", line);
}

static void tell_about(const char *kind, const char *call, const char *format, ...) {
    char text[384];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (strcmp(kind, "misuse") == 0) misuses++;
    tell(kind, call, text);
}

#define MISUSE(status, ...) (tell_about("misuse", __func__, __VA_ARGS__), (status))

/* --- tables ----------------------------------------------------------------------------------------------------- */

static void *grown(void *items, size_t count, size_t *room, size_t item) {
    if (count < *room) return items;
    *room = *room ? 2 * *room : 64;
    items = realloc(items, *room * item);
    if (!items) abort();
    return items;
}

static void add(Ranges *ranges, Range range) {
    ranges->items = grown(ranges->items, ranges->count, &ranges->room, sizeof(Range));
    ranges->items[ranges->count++] = range;
}

static void drop(Ranges *ranges, Range *range) { *range = ranges->items[--ranges->count]; }

static Range *starting_at(Ranges *ranges, uintptr_t start) {
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->items[i].start == start) return &ranges->items[i];
    return NULL;
}

static Range *holding(Ranges *ranges, uintptr_t start, size_t size) {
    for (size_t i = 0; i < ranges->count; i++) {
        Range *range = &ranges->items[i];
        if (range->start <= start && size <= range->size && start - range->start <= range->size - size) return range;
    }
    return NULL;
}

static Range *touching(Ranges *ranges, uintptr_t start, size_t size) {
    for (size_t i = 0; i < ranges->count; i++) {
        Range *range = &ranges->items[i];
        if (range->start < start + size && start < range->start + range->size) return range;
    }
    return NULL;
}

static void give_back(Handle *handle) {
    if (!handle->released || handle->mappings) return;
    device_bytes -= handle->size;
    close(handle->file);
    handle->file = -1;
}

/* --- beginning and end ------------------------------------------------------------------------------------------ */

static void on_fault(int signal, siginfo_t *about, void *context) {
    (void)context;
    uintptr_t address = (uintptr_t)about->si_addr;
    if (touching(&reservations, address, 1)) {
        Range *mapping = touching(&mappings, address, 1);
        char line[160];
        int size = snprintf(line, sizeof line, "fault access: %#zx is %s\n", (size_t)address,
                            mapping ? "mapped, but access to it was not set" : "reserved, but nothing is mapped there");
        if (report_file >= 0 && write(report_file, line, size) < 0) report_file = -1;
        if (write(STDERR_FILENO, line, size) < 0) report_file = -1;
    }
    /* The instruction runs again and meets whoever was there before. */
    sigaction(signal, &fault_before, NULL);
}

static size_t setting(const char *name, size_t usual) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : usual;
}

void patchkit_sim_configure(void) {
    granularity = setting("PATCHKIT_SIMULATOR_GRANULARITY", 2097152);
    device_limit = setting("PATCHKIT_SIMULATOR_DEVICE_BYTES", 68719476736);
    host_limit = setting("PATCHKIT_SIMULATOR_HOST_BYTES", SIZE_MAX);
    devices = (int)setting("PATCHKIT_SIMULATOR_DEVICES", 1);
    rdma = (int)setting("PATCHKIT_SIMULATOR_RDMA", 0);
    const char *report = getenv("PATCHKIT_SIMULATOR_REPORT");
    if (report_file >= 0) close(report_file);
    report_file = -1;
    if (report && *report) report_file = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) {
    patchkit_sim_configure();
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &fault_before);
}

__attribute__((destructor)) static void end(void) {
    size_t open_handles = 0;
    for (size_t i = 0; i < handle_count; i++) open_handles += handles[i].file >= 0;
    if (open_handles) tell_about("leak", "cuMemCreate", "%zu handles, %zu bytes", open_handles, device_bytes);
    if (reservations.count) tell_about("leak", "cuMemAddressReserve", "%zu reservations", reservations.count);
    if (host_blocks.count) tell_about("leak", "cudaMallocHost", "%zu blocks, %zu bytes", host_blocks.count, host_bytes);
}

/* --- the driver's calls ----------------------------------------------------------------------------------------- */

typedef struct {
    int type, handle_types;
    struct { int type, id; } location;
    void *win32;
    unsigned char flags[8];
} Properties;

typedef struct {
    struct { int type, id; } location;
    int flags;
} Access;

int cuGetErrorString(int status, const char **text) {
    *text = status == OK               ? "no error"
            : status == INVALID_VALUE  ? "invalid argument"
            : status == OUT_OF_MEMORY  ? "out of memory"
            : status == INVALID_DEVICE ? "invalid device ordinal"
                                       : "unknown error";
    return OK;
}

int cuCtxGetDevice(int *device) { return *device = 0, OK; }

int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= devices) return MISUSE(INVALID_DEVICE, "there is no device %d", ordinal);
    return *device = ordinal, OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    if (device < 0 || device >= devices) return MISUSE(INVALID_DEVICE, "there is no device %d", device);
    *value = attribute == 110 ? rdma : 0; /* GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED */
    return OK;
}

static bool wrong(const Properties *asked) {
    return asked->type != 1 || asked->location.type != 1 || asked->location.id < 0 || asked->location.id >= devices;
}

int cuMemGetAllocationGranularity(size_t *answer, const Properties *asked, int option) {
    (void)option;
    if (wrong(asked)) return MISUSE(INVALID_VALUE, "not pinned memory of a device that there is");
    return *answer = granularity, OK;
}

int cuMemCreate(unsigned long long *handle, size_t size, const Properties *asked, unsigned long long flags) {
    (void)flags;
    if (wrong(asked)) return MISUSE(INVALID_VALUE, "not pinned memory of a device that there is");
    if (!size || size % granularity)
        return MISUSE(INVALID_VALUE, "%zu bytes are no multiple of the granularity %zu", size, granularity);
    pthread_mutex_lock(&lock);
    int status = OUT_OF_MEMORY, file = -1;
    if (size <= device_limit - device_bytes && (file = memfd_create("device memory", MFD_CLOEXEC)) >= 0) {
        if (ftruncate(file, (off_t)size) == 0) {
            handles = grown(handles, handle_count, &handle_room, sizeof(Handle));
            handles[handle_count++] = (Handle){file, size, 0, false};
            device_bytes += size;
            *handle = handle_count;
            status = OK;
        } else {
            close(file);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static Handle *live(unsigned long long handle) {
    return handle && handle <= handle_count && !handles[handle - 1].released ? &handles[handle - 1] : NULL;
}

int cuMemRelease(unsigned long long handle) {
    pthread_mutex_lock(&lock);
    int status = OK;
    Handle *found = live(handle);
    if (!found) {
        bool before = handle && handle <= handle_count;
        status = MISUSE(INVALID_VALUE, before ? "handle %llu is released already" : "there is no handle %llu", handle);
    } else {
        /* Allowed: the memory lives on until it is unmapped. Told, because nobody does it on purpose. */
        if (found->mappings) tell_about("note", __func__, "handle %llu is still mapped", handle);
        found->released = true;
        give_back(found);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemAddressReserve(uintptr_t *pointer, size_t size, size_t alignment, uintptr_t wish, unsigned long long flags) {
    (void)wish, (void)flags;
    if (!size || size % granularity)
        return MISUSE(INVALID_VALUE, "%zu bytes are no multiple of the granularity %zu", size, granularity);
    if (alignment < granularity) alignment = granularity;
    char *space = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return OUT_OF_MEMORY;
    char *start = (char *)(((uintptr_t)space + alignment - 1) / alignment * alignment);
    if (start > space) munmap(space, (size_t)(start - space));
    if (start < space + alignment) munmap(start + size, (size_t)(space + alignment - start));
    pthread_mutex_lock(&lock);
    add(&reservations, (Range){(uintptr_t)start, size, 0, false});
    pthread_mutex_unlock(&lock);
    return *pointer = (uintptr_t)start, OK;
}

int cuMemAddressFree(uintptr_t pointer, size_t size) {
    pthread_mutex_lock(&lock);
    int status = OK;
    Range *found = starting_at(&reservations, pointer);
    if (!found)
        status = MISUSE(INVALID_VALUE, "%#zx is not reserved", (size_t)pointer);
    else if (found->size != size)
        status = MISUSE(INVALID_VALUE, "%zu bytes are reserved at %#zx, not %zu", found->size, (size_t)pointer, size);
    else if (touching(&mappings, pointer, size))
        status = MISUSE(INVALID_VALUE, "something is still mapped at %#zx", (size_t)pointer);
    else {
        munmap((void *)pointer, size);
        drop(&reservations, found);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemMap(uintptr_t pointer, size_t size, size_t offset, unsigned long long handle, unsigned long long flags) {
    (void)flags;
    pthread_mutex_lock(&lock);
    int status = OK;
    Handle *found = live(handle);
    if (!found)
        status = MISUSE(INVALID_VALUE, "there is no handle %llu", handle);
    else if (!size || offset || size != found->size)
        status = MISUSE(INVALID_VALUE, "%zu bytes at offset %zu of a handle of %zu", size, offset, found->size);
    else if (!holding(&reservations, pointer, size))
        status = MISUSE(INVALID_VALUE, "%zu bytes at %#zx are not all reserved", size, (size_t)pointer);
    else if (touching(&mappings, pointer, size))
        status = MISUSE(INVALID_VALUE, "something is mapped at %#zx already", (size_t)pointer);
    else if (mmap((void *)pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, found->file, 0) == MAP_FAILED)
        status = OUT_OF_MEMORY;
    else {
        found->mappings++;
        add(&mappings, (Range){pointer, size, handle, false});
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemSetAccess(uintptr_t pointer, size_t size, const Access *asked, size_t count) {
    pthread_mutex_lock(&lock);
    int status = OK;
    Range *found = starting_at(&mappings, pointer);
    if (!found || found->size != size)
        status = MISUSE(INVALID_VALUE, "%zu bytes at %#zx are not mapped", size, (size_t)pointer);
    else if (count != 1 || asked->location.type != 1 || asked->flags != 3)
        status = MISUSE(INVALID_VALUE, "not reading and writing by one device");
    else if (mprotect((void *)pointer, size, PROT_READ | PROT_WRITE))
        status = INVALID_VALUE;
    else
        found->accessible = true;
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemUnmap(uintptr_t pointer, size_t size) {
    pthread_mutex_lock(&lock);
    int status = OK;
    Range *found = starting_at(&mappings, pointer);
    if (!found)
        status = MISUSE(INVALID_VALUE, "nothing is mapped at %#zx", (size_t)pointer);
    else if (found->size != size)
        status = MISUSE(INVALID_VALUE, "%zu bytes are mapped at %#zx, not %zu", found->size, (size_t)pointer, size);
    else {
        mmap((void *)pointer, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        Handle *handle = &handles[found->handle - 1];
        handle->mappings--;
        give_back(handle);
        drop(&mappings, found);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* --- for the runtime and for whoever drives the simulator ------------------------------------------------------- */

static void *pages(size_t size) {
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

static int allocate(Ranges *blocks, size_t *used, size_t limit, void **pointer, size_t size) {
    pthread_mutex_lock(&lock);
    int status = OUT_OF_MEMORY;
    void *found = size && size <= limit - *used ? pages(size) : NULL;
    if (found) {
        add(blocks, (Range){(uintptr_t)found, size, 0, true});
        *used += size;
        if (host_bytes > host_peak) host_peak = host_bytes;
        *pointer = found;
        status = OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int deallocate(const char *call, Ranges *blocks, size_t *used, void *pointer) {
    if (!pointer) return OK;
    pthread_mutex_lock(&lock);
    int status = OK;
    Range *found = starting_at(blocks, (uintptr_t)pointer);
    if (found) {
        *used -= found->size;
        munmap(pointer, found->size);
        drop(blocks, found);
    } else {
        tell_about("misuse", call, "%p was not allocated by it, or is free already", pointer);
        status = INVALID_VALUE;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int patchkit_sim_device_alloc(void **pointer, size_t size) {
    return allocate(&device_blocks, &device_bytes, device_limit, pointer, size);
}

int patchkit_sim_device_free(void *pointer) { return deallocate("cudaFree", &device_blocks, &device_bytes, pointer); }

int patchkit_sim_host_alloc(void **pointer, size_t size) {
    return allocate(&host_blocks, &host_bytes, host_limit, pointer, size);
}

int patchkit_sim_host_free(void *pointer) { return deallocate("cudaFreeHost", &host_blocks, &host_bytes, pointer); }

static bool on_device(const void *pointer, size_t size) {
    Range *mapping = holding(&mappings, (uintptr_t)pointer, size);
    return mapping ? mapping->accessible : holding(&device_blocks, (uintptr_t)pointer, size) != NULL;
}

static bool on_host(const void *pointer, size_t size) {
    return !touching(&reservations, (uintptr_t)pointer, size) && !touching(&device_blocks, (uintptr_t)pointer, size);
}

int patchkit_sim_copy(void *target, const void *source, size_t size, int kind) {
    pthread_mutex_lock(&lock);
    bool to_device = kind == 1 || kind == 3, from_device = kind == 2 || kind == 3;
    bool good = kind == 4 || (to_device ? on_device(target, size) : on_host(target, size));
    bool from = kind == 4 || (from_device ? on_device(source, size) : on_host(source, size));
    if (good && from)
        memcpy(target, source, size);
    else
        tell_about("misuse", "cudaMemcpy", "%zu bytes, kind %d: %s is not memory of that kind", size, kind,
                   good ? "the source" : "the target");
    pthread_mutex_unlock(&lock);
    return good && from ? OK : INVALID_VALUE;
}

void patchkit_sim_memory(size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = device_limit - device_bytes;
    *total_bytes = device_limit;
}

int patchkit_sim_devices(void) { return devices; }
size_t patchkit_sim_device_bytes(void) { return device_bytes; }
size_t patchkit_sim_host_bytes(void) { return host_bytes; }
size_t patchkit_sim_host_peak(void) { return host_peak; }
size_t patchkit_sim_misuses(void) { return misuses; }
