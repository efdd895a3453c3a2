/* A stand-in for the calls of the CUDA runtime that torch_memory_saver makes (libcudart.so.12 and .13). */
#include "simulator.h"

int cudaMalloc(void **pointer, size_t size) { return patchkit_sim_device_alloc(pointer, size); }
int cudaFree(void *pointer) { return patchkit_sim_device_free(pointer); }
int cudaMallocHost(void **pointer, size_t size) { return patchkit_sim_host_alloc(pointer, size); }
int cudaFreeHost(void *pointer) { return patchkit_sim_host_free(pointer); }

int cudaMemcpy(void *target, const void *source, size_t size, int kind) {
    return patchkit_sim_copy(target, source, size, kind);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) { return patchkit_sim_memory(free_bytes, total_bytes), OK; }

int cudaDeviceSynchronize(void) { return OK; }

static __thread int current_device;

int cudaGetDevice(int *device) { return *device = current_device, OK; }

int cudaSetDevice(int device) {
    if (device < 0 || device >= patchkit_sim_devices()) return INVALID_DEVICE;
    return current_device = device, OK;
}

const char *cudaGetErrorString(int status) {
    switch (status) {
        case OK: return "no error";
        case INVALID_VALUE: return "invalid argument";
        case OUT_OF_MEMORY: return "out of memory";
        case INVALID_DEVICE: return "invalid device ordinal";
        default: return "unrecognized error code";
    }
}
