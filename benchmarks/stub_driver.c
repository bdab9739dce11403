// A libcuda.so.1 that notes the calls it gets, each with all its arguments, and answers with
// success: to compare what two programs ask of the driver, and what they spend on asking.  Nothing is simulated: streams finish at once, latches hold nothing, blocks of a
// pool have addresses but no memory.  Its times mean nothing, so nothing that was timed with it is
// ever a measurement of a GPU.
//
//   STUB_CUDA_LOG=FILE            a line a call: its name and arguments
//   STUB_CUDA_FAIL=NAME:NTH:CODE  the NTH call of NAME (from 1) fails with CODE, once
//   STUB_CUDA_CALL_NS=N           a call of the issuing path takes at least so long
//
// Handles are addresses of objects that are never given back, so that none stands for two things.
// Kernels of poolbench with a stamp as their first argument stamp; clock pings are not answered.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t u64;
typedef void* handle;

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };
enum { N_POOL_ATTRIBUTES = 32, PAGE = 4096 };

struct object {
  char kind;
  u64 value[N_POOL_ATTRIBUTES];
  char name[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE* log_file;
static char fail_name[64];
static long fail_nth, fail_code;
static u64 call_ns;
static atomic_ullong next_address = 0x7f0000000000ull;

static u64 now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("STUB_CUDA_LOG");
  const char* fail = getenv("STUB_CUDA_FAIL");
  const char* cost = getenv("STUB_CUDA_CALL_NS");
  if (path) log_file = fopen(path, "w");
  if (fail) sscanf(fail, "%63[^:]:%ld:%ld", fail_name, &fail_nth, &fail_code);
  if (cost) call_ns = strtoull(cost, NULL, 10);
}

__attribute__((destructor)) static void finish(void) {
  if (log_file) fclose(log_file);
}

// Without the version that the ABI puts behind a name.
static const char* shown(const char* name) {
  static _Thread_local char text[64];
  snprintf(text, sizeof text, "%s", name);
  char* version = strstr(text, "_v");
  if (version) *version = 0;
  return text;
}

// Notes a call; the code that it is to answer with.
static int noted(const char* function, const char* format, ...) {
  const u64 until = call_ns ? now() + call_ns : 0;
  int code = SUCCESS;
  if (log_file || fail_nth) {
    const char* name = shown(function);
    pthread_mutex_lock(&lock);
    if (fail_nth && !strcmp(name, fail_name) && --fail_nth == 0) code = (int)fail_code;
    if (log_file) {
      va_list arguments;
      va_start(arguments, format);
      fputs(name, log_file);
      vfprintf(log_file, format, arguments);
      fputc('\n', log_file);
      va_end(arguments);
    }
    pthread_mutex_unlock(&lock);
  }
  while (until && now() < until) {
  }
  return code;
}

#define NOTE(...)                                         \
  do {                                                    \
    const int code_ = noted(__func__, __VA_ARGS__);       \
    if (code_) return code_;                              \
  } while (0)

static handle made(char kind) {
  struct object* thing = calloc(1, sizeof *thing);
  thing->kind = kind;
  return thing;
}

static void* memory(size_t size) {
  const size_t rounded = (size + PAGE - 1) / PAGE * PAGE;
  return mmap(NULL, rounded + PAGE, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// --- the device ----------------------------------------------------------------------------------

int cuInit(unsigned flags) { NOTE(" %u", flags); return SUCCESS; }
int cuDriverGetVersion(int* version) { *version = 13000; return SUCCESS; }
int cuDeviceGetCount(int* count) { *count = 1; return SUCCESS; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return SUCCESS; }
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "stub driver, no GPU");
  return SUCCESS;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  (void)device;
  memset(uuid, 0, 16);
  return SUCCESS;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 16: *value = 132; break;     // multiprocessors
    case 75: *value = 9; break;       // compute capability
    case 76: *value = 0; break;
    case 97: *value = 232448; break;  // shared memory a block can ask for
    default: *value = 1;
  }
  return SUCCESS;
}
int cuDevicePrimaryCtxRetain(handle* context, int device) {
  (void)device;
  *context = made('c');
  return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return SUCCESS; }
int cuCtxSetCurrent(handle context) { (void)context; return SUCCESS; }
int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return SUCCESS;
}
int cuCtxSynchronize(void) { NOTE(""); return SUCCESS; }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = 79ull << 30;
  *total = 80ull << 30;
  return SUCCESS;
}
int cuGetErrorString(int code, const char** text) { (void)code; *text = "said by the stub driver"; return SUCCESS; }
int cuGetErrorName(int code, const char** text) { (void)code; *text = "STUB"; return SUCCESS; }

// NVRTC asks for a table of its own, and does without.
int cuGetExportTable(const void** table, const void* id) {
  (void)id;
  *table = NULL;
  return NOT_FOUND;
}

// --- events and streams --------------------------------------------------------------------------

int cuEventCreate(handle* event, unsigned flags) {
  *event = made('e');
  NOTE(" %p %u", *event, flags);
  return SUCCESS;
}
int cuEventDestroy_v2(handle event) { NOTE(" %p", event); return SUCCESS; }
int cuEventRecord(struct object* event, handle stream) {
  NOTE(" %p %p", (void*)event, stream);
  event->value[0] = now();
  return SUCCESS;
}
int cuEventQuery(handle event) { NOTE(" %p", event); return SUCCESS; }
int cuEventSynchronize(handle event) { NOTE(" %p", event); return SUCCESS; }
int cuEventElapsedTime_v2(float* ms, struct object* first, struct object* second) {
  NOTE(" %p %p", (void*)first, (void*)second);
  *ms = (float)((double)(int64_t)(second->value[0] - first->value[0]) * 1e-6);
  return SUCCESS;
}
int cuEventElapsedTime(float* ms, struct object* first, struct object* second) {
  return cuEventElapsedTime_v2(ms, first, second);
}
int cuStreamCreateWithPriority(handle* stream, unsigned flags, int priority) {
  *stream = made('s');
  NOTE(" %p %u %d", *stream, flags, priority);
  return SUCCESS;
}
int cuStreamDestroy_v2(handle stream) { NOTE(" %p", stream); return SUCCESS; }
int cuStreamQuery(handle stream) { NOTE(" %p", stream); return SUCCESS; }
int cuStreamSynchronize(handle stream) { NOTE(" %p", stream); return SUCCESS; }
int cuStreamWaitEvent(handle stream, handle event, unsigned flags) {
  NOTE(" %p %p %u", stream, event, flags);
  return SUCCESS;
}
int cuStreamWaitValue32_v2(handle stream, u64 address, unsigned value, unsigned flags) {
  NOTE(" %p %#lx %u %u", stream, address, value, flags);
  return SUCCESS;
}
int cuLaunchHostFunc(handle stream, void (*function)(void*), void* argument) {
  (void)function;
  NOTE(" %p %p", stream, argument);
  return SUCCESS;
}

// --- memory --------------------------------------------------------------------------------------

int cuMemAlloc_v2(u64* address, size_t size) {
  NOTE(" %zu", size);
  *address = (u64)memory(size);
  return SUCCESS;
}
int cuMemFree_v2(u64 address) { NOTE(" %#lx", address); return SUCCESS; }
int cuMemHostAlloc(void** address, size_t size, unsigned flags) {
  NOTE(" %zu %u", size, flags);
  *address = memory(size);
  return SUCCESS;
}
int cuMemHostGetDevicePointer_v2(u64* address, void* host, unsigned flags) {
  (void)flags;
  *address = (u64)host;
  return SUCCESS;
}
int cuMemFreeHost(void* address) { NOTE(" %p", address); return SUCCESS; }
int cuMemcpyHtoD_v2(u64 target, const void* source, size_t size) {
  NOTE(" %zu", size);
  memcpy((void*)target, source, size);
  return SUCCESS;
}
int cuMemcpyDtoH_v2(void* target, u64 source, size_t size) {
  NOTE(" %zu", size);
  memcpy(target, (void*)source, size);
  return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(u64 target, const void* source, size_t size, handle stream) {
  NOTE(" %#lx %p %zu %p", target, source, size, stream);
  return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void* target, u64 source, size_t size, handle stream) {
  NOTE(" %p %#lx %zu %p", target, source, size, stream);
  return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(u64 target, u64 source, size_t size, handle stream) {
  NOTE(" %#lx %#lx %zu %p", target, source, size, stream);
  return SUCCESS;
}
int cuMemsetD8Async(u64 target, unsigned char value, size_t size, handle stream) {
  NOTE(" %#lx %u %zu %p", target, value, size, stream);
  return SUCCESS;
}
int cuMemPoolCreate(handle* pool, const void* properties) {
  (void)properties;
  *pool = made('p');
  NOTE(" %p", *pool);
  return SUCCESS;
}
int cuMemPoolDestroy(handle pool) { NOTE(" %p", pool); return SUCCESS; }
// Attributes 1 to 3 are ints, the others 64 bits wide.
int cuMemPoolSetAttribute(struct object* pool, int attribute, const void* value) {
  const u64 given = attribute <= 3 ? (u64) * (const int*)value : *(const u64*)value;
  NOTE(" %p %d %lu", (void*)pool, attribute, given);
  if (attribute < 0 || attribute >= N_POOL_ATTRIBUTES) return INVALID_VALUE;
  pool->value[attribute] = given;
  return SUCCESS;
}
int cuMemPoolGetAttribute(struct object* pool, int attribute, void* value) {
  NOTE(" %p %d", (void*)pool, attribute);
  if (attribute < 0 || attribute >= N_POOL_ATTRIBUTES) return INVALID_VALUE;
  if (attribute <= 3)
    *(int*)value = (int)pool->value[attribute];
  else
    *(u64*)value = pool->value[attribute];
  return SUCCESS;
}
int cuMemPoolTrimTo(handle pool, size_t keep) { NOTE(" %p %zu", pool, keep); return SUCCESS; }
int cuMemAllocFromPoolAsync(u64* address, size_t size, handle pool, handle stream) {
  NOTE(" %zu %p %p", size, pool, stream);
  *address = atomic_fetch_add(&next_address, (size + 511) / 512 * 512);
  return SUCCESS;
}
int cuMemFreeAsync(u64 address, handle stream) { NOTE(" %#lx %p", address, stream); return SUCCESS; }

// --- kernels -------------------------------------------------------------------------------------

int cuModuleLoadData(handle* module, const void* image) {
  (void)image;
  *module = made('m');
  NOTE("");
  return SUCCESS;
}
int cuModuleUnload(handle module) { (void)module; NOTE(""); return SUCCESS; }
int cuModuleGetFunction(handle* function, handle module, const char* name) {
  (void)module;
  struct object* found = made('f');
  snprintf(found->name, sizeof found->name, "%s", name);
  *function = found;
  return SUCCESS;
}
int cuFuncSetAttribute(struct object* function, int attribute, int value) {
  NOTE(" %s %d %d", function->name, attribute, value);
  return SUCCESS;
}

// poolbench's kernels: what follows the stamp, x an address, d a number, u one of 32 bits.
static const struct { const char *name, *arguments; } known[] = {
    {"spin", "d"},
    {"compute", "xd"},
    {"fill", "xdd"},
    {"check", "xddx"},
    {"touch", "xuuxdxdxdxdxdxdxdxdxdxdxdxdxdxdxdxd"},
};

static const char* arguments_of(const char* name) {
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(name, known[i].name)) return known[i].arguments;
  return NULL;
}

static void show(char* text, size_t room, const char* arguments, void** values) {
  *text = 0;
  for (; arguments && *arguments; ++arguments) {
    const void* value = *++values;
    const char* format = *arguments == 'x' ? " %#lx" : " %lu";
    const u64 number = *arguments == 'u' ? *(const uint32_t*)value : *(const u64*)value;
    const int n = snprintf(text, room, format, number);
    text += n;
    room -= (size_t)n;
  }
}

static void stamp(u64* row) {
  if (!row) return;
  row[0] = now();
  row[1] = row[0] + 1;
}

int cuLaunchKernel(struct object* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, handle stream, void** arguments,
                   void** extra) {
  (void)extra;
  const char* kinds = log_file || arguments ? arguments_of(function->name) : NULL;
  char text[2048];
  *text = 0;
  if (log_file) show(text, sizeof text, kinds, arguments);
  NOTE(" %s %u %u %u %u %u %u %u %p%s", function->name, gx, gy, gz, bx, by, bz, shared, stream, text);
  if (kinds) stamp(*(u64**)arguments[0]);
  return SUCCESS;
}

// --- graphs --------------------------------------------------------------------------------------

int cuStreamBeginCapture_v2(handle stream, int mode) { NOTE(" %p %d", stream, mode); return SUCCESS; }
int cuStreamEndCapture(handle stream, handle* graph) {
  NOTE(" %p", stream);
  *graph = made('g');
  return SUCCESS;
}
int cuGraphInstantiateWithFlags(handle* launchable, handle graph, u64 flags) {
  NOTE(" %p %lu", graph, flags);
  *launchable = made('x');
  return SUCCESS;
}
int cuGraphUpload(handle launchable, handle stream) { NOTE(" %p %p", launchable, stream); return SUCCESS; }
int cuGraphLaunch(handle launchable, handle stream) { NOTE(" %p %p", launchable, stream); return SUCCESS; }
int cuGraphDestroy(handle graph) { NOTE(" %p", graph); return SUCCESS; }
int cuGraphExecDestroy(handle launchable) { NOTE(" %p", launchable); return SUCCESS; }
int cuDeviceGraphMemTrim(int device) { NOTE(" %d", device); return SUCCESS; }
int cuDeviceGetGraphMemAttribute(int device, int attribute, u64* value) {
  NOTE(" %d %d", device, attribute);
  *value = 0;
  return SUCCESS;
}
int cuDeviceSetGraphMemAttribute(int device, int attribute, const u64* value) {
  NOTE(" %d %d %lu", device, attribute, *value);
  return SUCCESS;
}

// --- how others find these -----------------------------------------------------------------------

int cuGetProcAddress_v2(const char* name, void** function, int version, u64 flags, int* status) {
  (void)version;
  (void)flags;
  static const char* versions[] = {"_v2", ""};
  static void* self;
  Dl_info here;
  char full[128];
  if (!self && dladdr((void*)cuGetProcAddress_v2, &here)) self = dlopen(here.dli_fname, RTLD_NOW);
  *function = NULL;
  // One name stands for two functions: its plain ABI takes no flags.
  if (!strcmp(name, "cuGraphInstantiate")) name = "cuGraphInstantiateWithFlags";
  for (size_t i = 0; i < 2 && !*function; ++i) {
    snprintf(full, sizeof full, "%s%s", name, versions[i]);
    *function = dlsym(self, full);
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? SUCCESS : NOT_FOUND;
}
int cuGetProcAddress(const char* name, void** function, int version, u64 flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
