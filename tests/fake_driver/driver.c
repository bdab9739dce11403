/* A CUDA driver that runs nothing: enough of libcuda.so.1 for poolbench's own calls.

   For tests on machines without a GPU: that every call is made with arguments the driver would take,
   in the right order, and that whatever was made is given back.  Time on its device is the host's:
   a kernel `spin` is over so long after it could begin, events read the time their stream has come
   to, and a synchronisation waits until then.  Memory of plain allocations is real up to 16 MiB, so
   that stamps and counters can be read back; everything else is an address and no more.  Its pool
   hands out freed blocks of the same size and grows otherwise; it knows no streams.  Nothing that
   comes of it is a measurement.

   FAKE_DRIVER_LOG names a file that gets one line for each call that puts work into a stream or
   makes or frees anything. */

#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef cuMemAlloc
#undef cuMemFree
#undef cuMemFreeHost
#undef cuMemHostAlloc
#undef cuMemHostGetDevicePointer
#undef cuMemGetInfo
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemcpyDtoDAsync
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuStreamDestroy
#undef cuStreamWaitValue32
#undef cuStreamBeginCapture
#undef cuDevicePrimaryCtxRelease
#undef cuDeviceGetUuid
#undef cuGetProcAddress

#define MIB ((size_t)1 << 20)
#define CHUNK (32 * MIB)
#define REAL_UP_TO (16 * MIB)
#define MAX_BLOCKS 65536

typedef struct { uint64_t ready; int captures; } Stream;
typedef struct { uint64_t at; int captured; } Event;
typedef struct { char name[64]; } Function;
typedef struct { CUdeviceptr address; size_t size; int live, real; } Block;
typedef struct { size_t max, reserved, used, reserved_high, used_high; uint64_t flags[8]; } Pool;
typedef struct { uint64_t length; int n_allocs; size_t size; } Graph;

static Stream legacy, per_thread;
static Block blocks[MAX_BLOCKS];
static Pool *owner[MAX_BLOCKS];
static int n_blocks, n_things;
static CUdeviceptr next_address = 0x700000000000;
static Graph *capturing;
static Stream *captures[64];
static int n_captures;
static size_t graph_reserved, graph_reserved_high, graph_used_high;
static FILE *log_file;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void say(const char *format, ...) {
  va_list arguments;
  if (!log_file) return;
  va_start(arguments, format);
  vfprintf(log_file, format, arguments);
  va_end(arguments);
  fputc('\n', log_file);
  fflush(log_file);
}

static Stream *stream_of(CUstream handle) {
  if (!handle || handle == CU_STREAM_LEGACY) return &legacy;
  return handle == CU_STREAM_PER_THREAD ? &per_thread : (Stream *)handle;
}

/* Puts something that takes `length` ns into a stream, or into the graph that it captures. */
static uint64_t put(Stream *stream, uint64_t length) {
  uint64_t t = now();
  if (stream->captures) {
    capturing->length += length;
    return t;
  }
  if (stream->ready > t) t = stream->ready;
  stream->ready = t + length;
  return t;
}

static void capture(Stream *stream) {
  if (!stream->captures) captures[n_captures++ % 64] = stream;
  stream->captures = 1;
}

static void wait_until(uint64_t t) {
  while (now() < t) {}
}

static Block *block_at(CUdeviceptr address) {
  for (int k = n_blocks - 1; k >= 0; k--)
    if (blocks[k].live && blocks[k].address == address) return &blocks[k];
  return NULL;
}

static int is_real(CUdeviceptr address) { return address < 0x700000000000 || address >= 0x780000000000; }

static Block *new_block(size_t size, Pool *pool) {
  if (n_blocks == MAX_BLOCKS) return NULL;
  Block *block = &blocks[n_blocks];
  block->size = size;
  block->live = 1;
  block->real = !pool && size <= REAL_UP_TO;
  if (block->real) {
    block->address = (CUdeviceptr)(uintptr_t)calloc(1, size);
  } else {
    block->address = next_address;
    next_address += (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
  }
  owner[n_blocks++] = pool;
  return block;
}

/* --- the driver and its device ------------------------------------------------------------- */

CUresult cuInit(unsigned int flags) {
  const char *path = getenv("FAKE_DRIVER_LOG");
  if (path && !log_file) log_file = fopen(path, "a");
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) { *version = 13000; return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int *count) { *count = 1; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  snprintf(name, (size_t)length, "no GPU at all");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { memset(uuid, 7, sizeof *uuid); return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    default: *value = 1;
  }
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = (CUcontext)&legacy;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) { return CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "an error";
  return CUDA_SUCCESS;
}

/* NVRTC asks for a table of its own, and does without. */
CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  *table = NULL;
  return CUDA_ERROR_NOT_FOUND;
}

/* --- code ---------------------------------------------------------------------------------- */

CUresult cuModuleLoadData(CUmodule *module, const void *image) { *module = (CUmodule)&n_things; return CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule module) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  Function *made = calloc(1, sizeof *made);
  snprintf(made->name, sizeof made->name, "%s", name);
  *function = (CUfunction)made;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) { return CUDA_SUCCESS; }

typedef struct { volatile uint32_t *request; volatile uint64_t *answer; uint32_t n; uint64_t limit; } Ping;

static void *answer_pings(void *argument) {
  Ping ping = *(Ping *)argument;
  uint64_t deadline = now() + ping.limit;
  free(argument);
  for (uint32_t number = 1; number <= ping.n; number++) {
    while (*ping.request != number) {
      if (now() > deadline) return NULL;
      usleep(2); /* who sleeps is woken at once, also where there are fewer cores than threads */
    }
    ping.answer[0] = now();
    __sync_synchronize();
    ping.answer[1] = number;
  }
  return NULL;
}

static void start_ping(void **parameters) {
  Ping *ping = malloc(sizeof *ping);
  pthread_t thread;
  ping->request = (volatile uint32_t *)*(uintptr_t *)parameters[0];
  ping->answer = (volatile uint64_t *)*(uintptr_t *)parameters[1];
  ping->n = *(uint32_t *)parameters[2];
  ping->limit = *(uint64_t *)parameters[3];
  pthread_create(&thread, NULL, answer_pings, ping);
  pthread_detach(thread);
}

CUresult cuLaunchKernel(CUfunction handle, unsigned int x, unsigned int y, unsigned int z,
                        unsigned int threads, unsigned int ty, unsigned int tz, unsigned int shared,
                        CUstream on, void **parameters, void **extra) {
  const char *name = ((Function *)handle)->name;
  Stream *stream = stream_of(on);
  uint64_t length = 1000, begin, *stamp = NULL;
  say("launch %s %u %u %u", name, x, threads, shared);
  if (x == 0 || threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (!strcmp(name, "ping")) {
    start_ping(parameters);
    return CUDA_SUCCESS;
  }
  if (!strcmp(name, "spin")) length = *(uint64_t *)parameters[1];
  if (!strcmp(name, "spin") || !strcmp(name, "touch") || !strcmp(name, "compute") ||
      !strcmp(name, "fill") || !strcmp(name, "check"))
    stamp = (uint64_t *)*(uintptr_t *)parameters[0];
  begin = put(stream, length);
  if (stamp) {
    stamp[0] = begin;
    stamp[1] = begin + length;
  }
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream on, CUhostFn function, void *data) {
  say("host function %zu", (size_t)data);
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  put(stream_of(on), 1000 * (uint64_t)(uintptr_t)data);
  return CUDA_SUCCESS;
}

/* --- streams and events -------------------------------------------------------------------- */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
  say("stream %u %d", flags, priority);
  n_things++;
  *stream = (CUstream)calloc(1, sizeof(Stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  if (stream_of(stream)->captures) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  say("destroy stream");
  n_things--;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  say("sync stream");
  if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  wait_until(stream_of(stream)->ready);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  return stream_of(stream)->ready > now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
static uint64_t last_ready;
CUresult cuCtxSynchronize(void) {
  say("sync device");
  if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  wait_until(last_ready);
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream on, CUevent handle, unsigned int flags) {
  Stream *stream = stream_of(on);
  Event *event = (Event *)handle;
  say("wait");
  if (event->captured) capture(stream);
  else if (stream->captures) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  else if (event->at > stream->ready) stream->ready = event->at;
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  say("hold %u", value);
  return stream_of(stream)->captures ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned int flags) {
  n_things++;
  *event = (CUevent)calloc(1, sizeof(Event));
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) { n_things--; return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent handle, CUstream on) {
  Stream *stream = stream_of(on);
  Event *event = (Event *)handle;
  say("record");
  event->captured = stream->captures;
  event->at = put(stream, 0);
  if (event->at > last_ready) last_ready = event->at;
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  return ((Event *)event)->at > now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  say("sync event");
  if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  wait_until(((Event *)event)->at);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent first, CUevent second) {
  *ms = (float)((double)((int64_t)(((Event *)second)->at - ((Event *)first)->at)) / 1e6);
  return CUDA_SUCCESS;
}

/* --- memory -------------------------------------------------------------------------------- */

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total) {
  *free_bytes = 1024 * MIB;
  *total = 2048 * MIB;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  say("cuMemAlloc %zu", size);
  if (capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Block *block = new_block(size, NULL);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = block->address;
  n_things++;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  Block *block = block_at(address);
  say("cuMemFree");
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  wait_until(last_ready);
  block->live = 0;
  n_things--;
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **address, size_t size, unsigned int flags) {
  *address = calloc(1, size);
  return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void *address) { free(address); return CUDA_SUCCESS; }
CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned int flags) {
  *device = (CUdeviceptr)(uintptr_t)host;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
  if (is_real(to)) memcpy((void *)(uintptr_t)to, from, size);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
  if (is_real(from)) memcpy(to, (void *)(uintptr_t)from, size);
  return CUDA_SUCCESS;
}
static CUresult copy(const char *kind, uint64_t to, uint64_t from, size_t size, CUstream stream) {
  say("%s %zu", kind, size);
  if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
  put(stream_of(stream), size / 50);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  return copy("h2d", to, (uint64_t)(uintptr_t)from, size, stream);
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy("d2h", (uint64_t)(uintptr_t)to, from, size, stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy("d2d", to, from, size, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream stream) {
  return copy("memset", to, 1, size, stream);
}

/* --- pools --------------------------------------------------------------------------------- */

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  Pool *made = calloc(1, sizeof *made);
  made->max = properties->maxSize;
  say("pool %zu", made->max);
  n_things++;
  *pool = (CUmemoryPool)made;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) { say("destroy pool"); n_things--; return CUDA_SUCCESS; }
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) { say("trim %zu", keep); return CUDA_SUCCESS; }
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool *pool = (Pool *)handle;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->flags[attribute] = (uint64_t)*(int *)value;
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->flags[attribute] = *(cuuint64_t *)value; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: pool->reserved_high = pool->reserved; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: pool->used_high = pool->used; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  Pool *pool = (Pool *)handle;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *(int *)value = (int)pool->flags[attribute];
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *(cuuint64_t *)value = pool->flags[attribute]; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *(cuuint64_t *)value = pool->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *(cuuint64_t *)value = pool->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *(cuuint64_t *)value = pool->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *(cuuint64_t *)value = pool->used_high; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

static CUresult grow(Pool *pool, size_t size) {
  size_t chunks = (size + CHUNK - 1) / CHUNK * CHUNK;
  if (pool->max && pool->reserved + chunks > pool->max) return CUDA_ERROR_OUT_OF_MEMORY;
  pool->reserved += chunks;
  if (pool->reserved > pool->reserved_high) pool->reserved_high = pool->reserved;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool handle, CUstream on) {
  Pool *pool = (Pool *)handle;
  Block *block = NULL;
  say("alloc %zu", size);
  if (!size) return CUDA_ERROR_INVALID_VALUE;
  if (stream_of(on)->captures) {
    block = new_block(size, (Pool *)capturing);
    capturing->n_allocs++;
    capturing->size += size;
  } else {
    for (int k = 0; k < n_blocks && !block; k++)
      if (!blocks[k].live && owner[k] == pool && blocks[k].size == size) block = &blocks[k];
    if (block) {
      block->live = 1;
    } else {
      CUresult result = grow(pool, size);
      if (result) return result;
      block = new_block(size, pool);
    }
    pool->used += size;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
  }
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  put(stream_of(on), 0);
  *address = block->address;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on) {
  Block *block = block_at(address);
  say("free");
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  block->live = 0;
  if (stream_of(on)->captures) {
    capturing->n_allocs--;
  } else {
    Pool *pool = owner[block - blocks];
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    pool->used -= block->size;
  }
  put(stream_of(on), 0);
  return CUDA_SUCCESS;
}

/* --- graphs -------------------------------------------------------------------------------- */

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  say("begin capture");
  if (capturing || stream_of(stream) == &legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  capturing = calloc(1, sizeof *capturing);
  capture(stream_of(stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  say("end capture");
  if (!capturing) return CUDA_ERROR_ILLEGAL_STATE;
  if (capturing->n_allocs) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  while (n_captures) captures[--n_captures]->captures = 0;
  *graph = (CUgraph)capturing;
  capturing = NULL;
  n_things++;
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  say("instantiate");
  n_things++;
  *exec = (CUgraphExec)graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  say("upload");
  graph_reserved += ((Graph *)exec)->size;
  if (graph_reserved > graph_reserved_high) graph_reserved_high = graph_reserved;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  Graph *graph = (Graph *)exec;
  say("graph");
  if (graph->size > graph_used_high) graph_used_high = graph->size;
  put(stream_of(stream), graph->length);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { say("destroy graph"); n_things--; return CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec exec) { say("destroy exec"); n_things--; return CUDA_SUCCESS; }
CUresult cuDeviceGraphMemTrim(CUdevice device) { say("trim graphs"); graph_reserved = 0; return CUDA_SUCCESS; }
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
  *(cuuint64_t *)value = attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH ? graph_reserved_high
                         : attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH   ? graph_used_high
                                                                          : graph_reserved;
  return CUDA_SUCCESS;
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
  if (*(cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) graph_reserved_high = graph_reserved;
  else graph_used_high = 0;
  return CUDA_SUCCESS;
}

/* --- how the calls are found --------------------------------------------------------------- */

/* How many things were made and not given back: for the tests. */
int fakeThings(void) { return n_things; }

CUresult cuGetProcAddress_v2(const char *symbol, void **address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
  *address = dlsym(RTLD_DEFAULT, symbol);
  if (!*address) {
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    *address = self ? dlsym(self, symbol) : NULL;
  }
  if (status) *status = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char *symbol, void **address, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status) {
  return cuGetProcAddress_v2(symbol, address, version, flags, status);
}
