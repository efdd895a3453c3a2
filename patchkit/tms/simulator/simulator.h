/* What the stand-ins for the CUDA driver and the CUDA runtime share. The driver's library owns all state.

   Settings, read from the environment once:
     PATCHKIT_SIMULATOR_GRANULARITY   bytes, a power of two and a multiple of the page size (default 2097152)
     PATCHKIT_SIMULATOR_DEVICE_BYTES  device memory (default 68719476736)
     PATCHKIT_SIMULATOR_HOST_BYTES    most pinned host memory (default: no limit)
     PATCHKIT_SIMULATOR_DEVICES       devices there are (default 1)
     PATCHKIT_SIMULATOR_RDMA          1: the devices can do GPUDirect RDMA (default 0)
     PATCHKIT_SIMULATOR_REPORT        file that gets a line for each misuse, leak and fault, beside standard error

   patchkit_sim_configure reads them again; a process that forked off before it used any memory can be set up anew so.

   A line of the report is "KIND CALL: TEXT", KIND being misuse, leak, fault or note. */
#ifndef PATCHKIT_SIMULATOR_H
#define PATCHKIT_SIMULATOR_H

#include <stddef.h>
#include <stdint.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101 };

/* Allocations of cudaMalloc and cudaMallocHost: status as above. */
int patchkit_sim_device_alloc(void **pointer, size_t size);
int patchkit_sim_device_free(void *pointer);
int patchkit_sim_host_alloc(void **pointer, size_t size);
int patchkit_sim_host_free(void *pointer);

/* Copy, after both sides were checked; kind is cudaMemcpyKind. */
int patchkit_sim_copy(void *target, const void *source, size_t size, int kind);

void patchkit_sim_memory(size_t *free_bytes, size_t *total_bytes);
int patchkit_sim_devices(void);

/* For whoever drives the simulator. */
void patchkit_sim_configure(void);
size_t patchkit_sim_device_bytes(void);
size_t patchkit_sim_host_bytes(void);
size_t patchkit_sim_host_peak(void);
size_t patchkit_sim_misuses(void);

#endif
