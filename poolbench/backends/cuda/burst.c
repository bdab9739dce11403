// Issues a row of steps: nothing but driver calls, one after another.
//
// Each step is eight words: a kind and its arguments.  The compiler is given the kinds' numbers
// (-DPOOL_ALLOC=0 ...) by burst.py, which also says what the words of each kind mean.  `entry[kind]`
// is the driver's own function.  Buffers are given by index: `words[b]` is where kernels read a
// buffer's address, `pointers[b]` the block that is alive, 0 if there is none.

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef uint64_t u64;
typedef void* handle;

enum { WIDTH = 8, NOT_READY = 600 };

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int work(int64_t ns) {
  const int64_t until = now() + ns;
  while (now() < until) {
  }
  return 0;
}

#define CALL(...) ((int (*)(__VA_ARGS__))entry[op[0]])
#define H(n) ((handle)op[n])

static int issue(void* const* entry, const u64* op, u64* words, u64* pointers) {
  u64 block = 0;
  int code;
  switch (op[0]) {
    case POOL_ALLOC:
      code = CALL(u64*, size_t, handle, handle)(&block, op[2], H(3), H(4));
      if (!code) words[op[1]] = pointers[op[1]] = block;
      return code;
    case PLAIN_ALLOC:
      code = CALL(u64*, size_t)(&block, op[2]);
      if (!code) words[op[1]] = pointers[op[1]] = block;
      return code;
    case POOL_FREE:
      block = pointers[op[1]];
      pointers[op[1]] = 0;
      return CALL(u64, handle)(block, H(2));
    case PLAIN_FREE:
      block = pointers[op[1]];
      pointers[op[1]] = 0;
      return CALL(u64)(block);
    case LAUNCH:
      return CALL(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                  void**, void**)(H(1), (unsigned)op[2], 1, 1, (unsigned)op[3], 1, 1,
                                  (unsigned)op[4], H(5), (void**)op[6], NULL);
    case COPY_H2D:
    case COPY_D2H:
    case COPY_D2D:  // addresses of host and device are equally wide
      return CALL(u64, u64, size_t, handle)(pointers[op[1]], pointers[op[2]], op[3], H(4));
    case SET:
      return CALL(u64, unsigned char, size_t, handle)(pointers[op[1]], (unsigned char)op[2], op[3], H(4));
    case RECORD:
    case LAUNCH_GRAPH:
      return CALL(handle, handle)(H(1), H(2));
    case WAIT:
      return CALL(handle, handle, unsigned)(H(1), H(2), 0);
    case SYNC_STREAM:
    case SYNC_EVENT:
      return CALL(handle)(H(1));
    case SYNC_DEVICE:
      return CALL(void)();
    case QUERY_STREAM:
    case QUERY_EVENT:
      code = CALL(handle)(H(1));
      return code == NOT_READY ? 0 : code;
    case HOST_WORK:
      return work((int64_t)op[1]);
  }
  return 1;
}

// Issues the steps from `at` on; the index of the one that failed, its code in `failed`, or `n`.
size_t burst(void* const* entry, const u64* ops, size_t at, size_t n, u64* words, u64* pointers,
             int* failed) {
  for (; at < n; ++at) {
    *failed = issue(entry, ops + WIDTH * at, words, pointers);
    if (*failed) break;
  }
  return at;
}
