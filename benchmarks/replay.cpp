// Replays a plan that `poolbench run SCENARIO --plan --export plan.json` wrote, with the driver API
// and nothing of poolbench: what poolbench's timed pass would cost a C++ program.
//
//   g++ -O2 -std=c++17 -I/usr/local/cuda/include -o replay benchmarks/replay.cpp -ldl
//   ./replay plan.json > times.json
//
// Needs cuda.h and nlohmann/json.hpp (Debian: nlohmann-json3-dev) to build, libcuda.so.1 and NVRTC
// to run.  NVRTC=PATH names the library if the linker does not find it.
//
// Prints, for each iteration, the host time of issuing its steps and the time between the two events
// around them.  Plans with steps that it does not know are refused (exit code 3): latches, graphs,
// callbacks, calls, streams that steps create.

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using json = nlohmann::json;

// --- the driver, found as every program without the toolkit finds it ------------------------------

#define ALL_CALLS(X)                                                                              \
  X(cuInit) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) \
  X(cuCtxSynchronize) X(cuCtxGetStreamPriorityRange) X(cuGetErrorString) X(cuModuleLoadData)      \
  X(cuModuleGetFunction) X(cuFuncSetAttribute) X(cuEventCreate) X(cuEventRecord)                  \
  X(cuEventSynchronize) X(cuEventQuery) X(cuEventElapsedTime) X(cuStreamCreateWithPriority)       \
  X(cuStreamWaitEvent) X(cuStreamSynchronize) X(cuStreamQuery) X(cuMemAlloc) X(cuMemFree)         \
  X(cuMemHostAlloc) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync)                     \
  X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) X(cuMemPoolCreate) X(cuMemPoolDestroy)                  \
  X(cuMemPoolSetAttribute) X(cuMemPoolGetAttribute) X(cuMemPoolTrimTo)                            \
  X(cuMemAllocFromPoolAsync) X(cuMemFreeAsync) X(cuLaunchKernel) X(cuStreamDestroy)

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)  // cuda.h gives a name its version: cuMemAlloc is cuMemAlloc_v2

struct Driver {
#define MEMBER(name) decltype(&::name) name##_ = nullptr;
  ALL_CALLS(MEMBER)
  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) fail("no libcuda.so.1");
#define LOAD(name)                                                             \
  name##_ = reinterpret_cast<decltype(&::name)>(dlsym(library, TEXT(name)));   \
  if (!name##_) fail("libcuda.so.1 has no " TEXT(name));
    ALL_CALLS(LOAD)
  }
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "replay: %s\n", what);
    std::exit(4);
  }
};

static Driver* api;
#define CU(name) (api->name##_)

static void check(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  const char* text = nullptr;
  CU(cuGetErrorString)(code, &text);
  std::fprintf(stderr, "replay: %s: %d (%s)\n", what, int(code), text ? text : "unknown");
  std::exit(4);
}

[[noreturn]] static void refuse(const std::string& what) {
  std::fprintf(stderr, "replay: cannot replay %s\n", what.c_str());
  std::exit(3);
}

static int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// --- kernels --------------------------------------------------------------------------------------

struct Nvrtc {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*size)(void*, size_t*);
  int (*get)(void*, char*);

  Nvrtc() {
    void* library = nullptr;
    const char* named = std::getenv("NVRTC");
    for (const char* name : {named ? named : "libnvrtc.so.13", "libnvrtc.so"})
      if (!library) library = dlopen(name, RTLD_NOW);
    if (!library) Driver::fail("no NVRTC: set NVRTC to the path of libnvrtc.so.13");
    create = reinterpret_cast<decltype(create)>(dlsym(library, "nvrtcCreateProgram"));
    compile = reinterpret_cast<decltype(compile)>(dlsym(library, "nvrtcCompileProgram"));
    size = reinterpret_cast<decltype(size)>(dlsym(library, "nvrtcGetCUBINSize"));
    get = reinterpret_cast<decltype(get)>(dlsym(library, "nvrtcGetCUBIN"));
  }

  std::string cubin(const std::string& source, const std::string& architecture) const {
    void* program = nullptr;
    const std::string option = "--gpu-architecture=" + architecture;
    const char* options[] = {option.c_str(), "--std=c++17"};
    size_t n = 0;
    if (create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr) ||
        compile(program, 2, options) || size(program, &n))
      Driver::fail("NVRTC refused a kernel");
    std::string code(n, '\0');
    get(program, code.data());
    return code;
  }
};

// Arguments in memory of our own, which the driver reads at each launch.
struct Launch {
  CUfunction function = nullptr;
  unsigned blocks = 1, threads = 1, shared = 0;
  CUstream stream = nullptr;
  std::vector<uint64_t> values;
  std::vector<void*> pointers;
};

enum class Do {
  pool_alloc, pool_free, plain_alloc, plain_free, launch, h2d, d2h, d2d, set, record, wait,
  sync_stream, sync_event, sync_device, query_stream, query_event, host_work, trim
};

struct Step {
  Do what;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  Launch* launch = nullptr;
  size_t buffer = 0, source = 0, size = 0;
  unsigned char value = 0;
};

// --- a plan ---------------------------------------------------------------------------------------

class Replay {
 public:
  explicit Replay(json plan) : plan_(std::move(plan)) {
    if (plan_.value("format", "") != "poolbench-plan" || plan_.value("version", 0) != 1)
      refuse("this file: it is no plan of version 1");
    if (plan_["issue"] != "live" || plan_["pace_ns"] != 0) refuse("a plan that is not issued live");
    if (!plan_["leave_free"].is_null()) refuse("a plan with leave_free");
    if (!plan_["graphs"].empty()) refuse("graphs");
    make_device();
    make_streams();
    make_buffers();
    make_pool();
    for (const json& step : plan_["steps"]) add(step);
  }

  json run() {
    const int n = plan_["n_iterations"];
    json iterations = json::array();
    std::string status = "ok";
    for (int iteration = 0; iteration < n && status == "ok"; ++iteration) {
      if (iteration == 0) rehearse();
      reset_stamps();
      check(CU(cuCtxSynchronize)(), "cuCtxSynchronize");
      const int64_t begun = now();
      check(CU(cuEventRecord)(start_, clock_), "cuEventRecord");
      const CUresult code = issue();
      const int64_t issued = now();
      for (size_t s = 0; s < streams_.size(); ++s) {
        check(CU(cuEventRecord)(end_events_[s], streams_[s]), "cuEventRecord");
        check(CU(cuStreamWaitEvent)(clock_, end_events_[s], 0), "cuStreamWaitEvent");
      }
      check(CU(cuEventRecord)(end_, clock_), "cuEventRecord");
      check(CU(cuCtxSynchronize)(), "cuCtxSynchronize");
      if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        status = "out_of_memory";
        break;
      }
      check(code, "a step");
      float ms = 0;
      check(CU(cuEventElapsedTime)(&ms, start_, end_), "cuEventElapsedTime");
      const double host = double(issued - begun);
      iterations.push_back({{"host_ns", int64_t(host)},
                            {"host_ns_per_step", host / double(std::max<size_t>(1, plan_["steps"].size()))},
                            {"makespan_ns", int64_t(std::llround(double(ms) * 1e6))}});
    }
    give_back();
    return {{"status", status}, {"n_steps", plan_["steps"].size()}, {"case", plan_["case"]},
            {"iterations", iterations}};
  }

 private:
  void make_device() {
    check(CU(cuInit)(0), "cuInit");
    check(CU(cuDeviceGet)(&device_, 0), "cuDeviceGet");
    CUcontext context = nullptr;
    check(CU(cuDevicePrimaryCtxRetain)(&context, device_), "cuDevicePrimaryCtxRetain");
    check(CU(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
    n_multiprocessors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    shared_ = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    const Nvrtc nvrtc;
    const std::string architecture =
        "sm_" + std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
        std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    CUmodule module = load(nvrtc.cubin(plan_["module"], architecture));
    for (const char* name : {"spin", "touch", "compute", "fill", "check"}) {
      check(CU(cuModuleGetFunction)(&functions_[name], module, name), name);
      allow_shared(functions_[name]);
    }
    for (const json& own : plan_["kernels"]) {
      CUfunction function = nullptr;
      const std::string entry = own["entry"];
      CUmodule from = load(nvrtc.cubin(own["text"], architecture));
      check(CU(cuModuleGetFunction)(&function, from, entry.c_str()), entry.c_str());
      own_.push_back(function);
    }
    check(CU(cuMemAlloc)(&sink_, 256), "cuMemAlloc");
    for (CUevent* event : {&start_, &end_}) check(CU(cuEventCreate)(event, 0), "cuEventCreate");
    check(CU(cuStreamCreateWithPriority)(&clock_, CU_STREAM_NON_BLOCKING, 0), "a stream");
  }

  int attribute(CUdevice_attribute which) const {
    int value = 0;
    check(CU(cuDeviceGetAttribute)(&value, which, device_), "cuDeviceGetAttribute");
    return value;
  }

  static CUmodule load(const std::string& code) {
    CUmodule module = nullptr;
    check(CU(cuModuleLoadData)(&module, code.data()), "cuModuleLoadData");
    return module;
  }

  void allow_shared(CUfunction function) const {
    check(CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_),
          "cuFuncSetAttribute");
    check(CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
          "cuFuncSetAttribute");
  }

  void make_streams() {
    int least = 0, greatest = 0;
    check(CU(cuCtxGetStreamPriorityRange)(&least, &greatest), "cuCtxGetStreamPriorityRange");
    for (const json& spec : plan_["streams"]) {
      if (spec["is_created_by_step"]) refuse("streams that steps create");
      const std::string kind = spec["kind"], level = spec["priority"];
      CUstream stream = nullptr;
      if (kind == "legacy_default") {
        stream = CU_STREAM_LEGACY;
      } else if (kind == "per_thread_default") {
        stream = CU_STREAM_PER_THREAD;
      } else {
        const int priority = level == "low" ? least : level == "high" ? greatest : 0;
        const unsigned flags = kind == "blocking" ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
        check(CU(cuStreamCreateWithPriority)(&stream, flags, priority), "a stream");
      }
      streams_.push_back(stream);
      end_events_.push_back(new_event());
    }
    for (size_t e = 0; e < plan_["events"].size(); ++e) events_.push_back(new_event());
  }

  static CUevent new_event() {
    CUevent event = nullptr;
    check(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return event;
  }

  void make_buffers() {
    const json& specs = plan_["buffers"];
    std::vector<CUdeviceptr> slots;
    for (const json& size : plan_["slots"]) slots.push_back(plain(std::max<size_t>(1, size)));
    words_.assign(specs.size() + 1, 0);  // addresses of its words are kept: it must not grow
    pointers_.assign(specs.size() + 1, 0);
    for (size_t b = 0; b < specs.size(); ++b) {
      const json& spec = specs[b];
      const size_t size = spec["size"];
      const int slot = spec["slot"];
      uint64_t address = 0;
      if (spec["memory"] == "device") {
        address = plain(size);
      } else if (spec["memory"] == "pinned") {
        void* host = nullptr;
        check(CU(cuMemHostAlloc)(&host, size, 0), "cuMemHostAlloc");
        std::memset(host, 1, size);
        address = reinterpret_cast<uint64_t>(host);
      } else if (spec["memory"] == "pageable") {
        pages_.emplace_back(new char[size]);
        std::memset(pages_.back().get(), 1, size);
        address = reinterpret_cast<uint64_t>(pages_.back().get());
      } else if (slot >= 0) {
        address = slots[size_t(slot)];
      }
      words_[b] = pointers_[b] = address;
    }
    size_t n_checks = 0;
    for (const json& step : plan_["steps"]) n_checks += step["do"] == "check";
    counters_ = plain(std::max<size_t>(256, 8 * n_checks));
    zeros_.assign(std::max<size_t>(1, n_checks), 0);
  }

  static CUdeviceptr plain(size_t size) {
    CUdeviceptr address = 0;
    check(CU(cuMemAlloc)(&address, size), "cuMemAlloc");
    return address;
  }

  void make_pool() {
    const json& pool = plan_["pool"];
    if (pool.is_null()) return;
    pool_ = new_pool(pool["max_size"]);
    flag(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, pool["reuse_follow_event_dependencies"]);
    flag(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, pool["reuse_allow_opportunistic"]);
    flag(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, pool["reuse_allow_internal_dependencies"]);
    cuuint64_t threshold = pool["release_threshold"];
    check(CU(cuMemPoolSetAttribute)(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "threshold");
    const size_t prime = pool["prime"];
    if (prime) use_once(pool_, prime);
  }

  CUmemoryPool new_pool(size_t max_size) const {
    CUmemPoolProps properties;
    std::memset(&properties, 0, sizeof properties);
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    properties.maxSize = max_size;
    CUmemoryPool pool = nullptr;
    check(CU(cuMemPoolCreate)(&pool, &properties), "cuMemPoolCreate");
    return pool;
  }

  // Attributes are read back: a recycled pool may inherit state.
  void flag(CUmemPool_attribute which, bool value) const {
    int wanted = value, found = -1;
    check(CU(cuMemPoolSetAttribute)(pool_, which, &wanted), "cuMemPoolSetAttribute");
    check(CU(cuMemPoolGetAttribute)(pool_, which, &found), "cuMemPoolGetAttribute");
    if (found != wanted) Driver::fail("an attribute of the pool does not read back as it was set");
  }

  void use_once(CUmemoryPool pool, size_t size) const {
    CUdeviceptr block = 0;
    check(CU(cuMemAllocFromPoolAsync)(&block, size, pool, clock_), "cuMemAllocFromPoolAsync");
    check(CU(cuMemFreeAsync)(block, clock_), "cuMemFreeAsync");
    check(CU(cuStreamSynchronize)(clock_), "cuStreamSynchronize");
  }

  // As poolbench does before the first iteration: a launch on every stream, two growths.
  void rehearse() {
    for (CUstream stream : streams_) {
      uint64_t nothing[2] = {0, 0};
      void* arguments[2] = {&nothing[0], &nothing[1]};
      check(CU(cuLaunchKernel)(functions_["spin"], 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "a launch");
    }
    for (int growth = 0; growth < 2; ++growth) {
      CUmemoryPool pool = new_pool(size_t(32) << 20);
      use_once(pool, size_t(1) << 20);
      check(CU(cuMemPoolDestroy)(pool), "cuMemPoolDestroy");
    }
    check(CU(cuCtxSynchronize)(), "cuCtxSynchronize");
  }

  void reset_stamps() {
    check(CU(cuMemcpyHtoD)(counters_, zeros_.data(), 8 * zeros_.size()), "cuMemcpyHtoD");
  }

  // --- steps ---

  CUstream stream(const json& step) const { return streams_[step["stream"].get<size_t>()]; }
  CUevent event(const json& step) const { return events_[step["event"].get<size_t>()]; }

  void add(const json& given) {
    const std::string what = given["do"];
    const bool has_pool = pool_ != nullptr, is_ideal = plan_["case"]["row"] == "preallocated";
    Step step;
    if (given.contains("stream")) step.stream = stream(given);
    if (given.contains("event")) step.event = event(given);
    if (given.contains("buffer")) step.buffer = given["buffer"];
    if (given.contains("size")) step.size = given["size"];
    if (what == "alloc" || what == "free") {
      if (is_ideal) return;
      step.what = what == "alloc" ? (has_pool ? Do::pool_alloc : Do::plain_alloc)
                                  : (has_pool ? Do::pool_free : Do::plain_free);
    } else if (what == "launch" || what == "fill" || what == "check") {
      step.what = Do::launch;
      step.launch = packed(what, given, step.stream);
    } else if (what == "memcpy") {
      const std::string kind = given["kind"];
      step.what = kind == "h2d" ? Do::h2d : kind == "d2h" ? Do::d2h : Do::d2d;
      step.buffer = given["dst"];
      step.source = given["src"];
    } else if (what == "memset") {
      step.what = Do::set;
      step.value = static_cast<unsigned char>(given["value"].get<int>());
    } else if (what == "trim") {
      if (!has_pool) return;
      step.what = Do::trim;
      step.size = given["keep"];
    } else if (what == "host_work") {
      step.what = Do::host_work;
      step.size = given["duration_ns"];
    } else if (what == "sample") {
      return;
    } else {
      static const std::map<std::string, Do> plain = {
          {"record", Do::record},           {"wait", Do::wait},
          {"sync_stream", Do::sync_stream}, {"sync_event", Do::sync_event},
          {"sync_device", Do::sync_device}, {"query_stream", Do::query_stream},
          {"query_event", Do::query_event}};
      const auto found = plain.find(what);
      if (found == plain.end()) refuse("a step " + what);
      step.what = found->second;
    }
    steps_.push_back(step);
  }

  Launch* packed(const std::string& what, const json& step, CUstream stream) {
    launches_.push_back(std::make_unique<Launch>());
    Launch& made = *launches_.back();
    made.stream = stream;
    std::vector<uint64_t> values;  // ~0 - b stands for the word of buffer b
    std::vector<int> buffers;
    const auto value = [&](uint64_t v) { values.push_back(v); buffers.push_back(-1); };
    const auto buffer = [&](int b) { values.push_back(0); buffers.push_back(b); };
    if (what == "launch") {
      grid(step["grid"], made);
      const json& work = step["work"];
      const std::string of = work["of"];
      if (of == "custom") {
        made.function = own_[work["kernel"].get<size_t>()];
        if (made.shared) allow_shared(made.function);
        for (const json& argument : work["arguments"])
          if (argument.is_number()) buffer(argument); else value(scalar(argument[0], argument[1]));
      } else {
        made.function = functions_[of];
        value(0);  // no stamps in the timed pass
        if (of == "spin") {
          value(work["duration_ns"]);
        } else if (of == "compute") {
          value(sink_);
          value(rounds(work["flops"], double(made.blocks) * made.threads * 16));
        } else {
          touch(work, value, buffer);
        }
      }
    } else {
      const uint64_t size = step["size"];
      made.function = functions_[what];
      made.threads = 1024;
      made.blocks = unsigned(std::min<uint64_t>(2u * unsigned(n_multiprocessors_),
                                                std::max<uint64_t>(1, (size + 8191) / 8192)));
      value(0);
      buffer(step["buffer"]);
      value(size);
      value(step["seed"]);
      if (what == "check") value(counters_ + 8 * n_checks_++);
    }
    made.values = values;
    for (size_t i = 0; i < values.size(); ++i)
      made.pointers.push_back(buffers[i] < 0 ? &made.values[i] : &words_[size_t(buffers[i])]);
    return &made;
  }

  template <typename Value, typename Buffer>
  void touch(const json& work, Value value, Buffer buffer) const {
    value(sink_);
    value(work["reads"].size());
    value(work["writes"].size());
    for (const char* side : {"reads", "writes"}) {
      for (const json& b : work[side]) {
        buffer(b);
        value(plan_["buffers"][b.get<size_t>()]["size"]);
      }
      for (size_t rest = work[side].size(); rest < 8; ++rest) {
        value(0);
        value(0);
      }
    }
  }

  // Half to even, as Python rounds.
  static uint64_t rounds(double flops, double per_round) {
    return std::max<uint64_t>(1, uint64_t(std::nearbyint(flops / per_round)));
  }

  static uint64_t scalar(const std::string& type, const json& given) {
    uint64_t word = 0;
    if (type == "f32") {
      const float number = given;
      std::memcpy(&word, &number, sizeof number);
    } else if (type == "f64") {
      const double number = given;
      std::memcpy(&word, &number, sizeof number);
    } else if (type[0] == 'i') {
      word = uint64_t(given.get<int64_t>());
    } else {
      word = given;
    }
    return word;  // little-endian: the driver reads as many bytes as the parameter has
  }

  void grid(const json& given, Launch& made) const {
    if (!given["share"].is_null()) {
      made.blocks = unsigned(std::ceil(given["share"].get<double>() * n_multiprocessors_));
      made.threads = 1024;
      made.shared = unsigned(shared_);
      return;
    }
    made.blocks = given["blocks"].is_null() ? 1u : std::max(1u, given["blocks"].get<unsigned>());
    made.threads = given["threads"];
  }

  CUresult issue() {
    const bool retries = plan_["on_oom"] != "fail", trims = plan_["on_oom"] == "trim_retry";
    for (const Step& step : steps_) {
      CUresult code = once(step);
      if (code == CUDA_ERROR_OUT_OF_MEMORY && retries &&
          (step.what == Do::pool_alloc || step.what == Do::plain_alloc)) {
        check(CU(cuCtxSynchronize)(), "cuCtxSynchronize");
        if (trims && pool_) check(CU(cuMemPoolTrimTo)(pool_, 0), "cuMemPoolTrimTo");
        code = once(step);
      }
      if (code != CUDA_SUCCESS) return code;
    }
    return CUDA_SUCCESS;
  }

  CUresult once(const Step& step) {
    switch (step.what) {
      case Do::pool_alloc:
      case Do::plain_alloc: {
        CUdeviceptr block = 0;
        const CUresult code = step.what == Do::pool_alloc
                                  ? CU(cuMemAllocFromPoolAsync)(&block, step.size, pool_, step.stream)
                                  : CU(cuMemAlloc)(&block, step.size);
        if (code == CUDA_SUCCESS) words_[step.buffer] = pointers_[step.buffer] = block;
        return code;
      }
      case Do::pool_free: return CU(cuMemFreeAsync)(taken(step.buffer), step.stream);
      case Do::plain_free: return CU(cuMemFree)(taken(step.buffer));
      case Do::launch: {
        Launch& l = *step.launch;
        return CU(cuLaunchKernel)(l.function, l.blocks, 1, 1, l.threads, 1, 1, l.shared, l.stream,
                                  l.pointers.data(), nullptr);
      }
      case Do::h2d:
        return CU(cuMemcpyHtoDAsync)(pointers_[step.buffer], host(step.source), step.size, step.stream);
      case Do::d2h:
        return CU(cuMemcpyDtoHAsync)(host(step.buffer), pointers_[step.source], step.size, step.stream);
      case Do::d2d:
        return CU(cuMemcpyDtoDAsync)(pointers_[step.buffer], pointers_[step.source], step.size, step.stream);
      case Do::set: return CU(cuMemsetD8Async)(pointers_[step.buffer], step.value, step.size, step.stream);
      case Do::record: return CU(cuEventRecord)(step.event, step.stream);
      case Do::wait: return CU(cuStreamWaitEvent)(step.stream, step.event, 0);
      case Do::sync_stream: return CU(cuStreamSynchronize)(step.stream);
      case Do::sync_event: return CU(cuEventSynchronize)(step.event);
      case Do::sync_device: return CU(cuCtxSynchronize)();
      case Do::query_stream: return answered(CU(cuStreamQuery)(step.stream));
      case Do::query_event: return answered(CU(cuEventQuery)(step.event));
      case Do::trim: return CU(cuMemPoolTrimTo)(pool_, step.size);
      case Do::host_work: {
        const int64_t until = now() + int64_t(step.size);
        while (now() < until) {
        }
        return CUDA_SUCCESS;
      }
    }
    return CUDA_ERROR_INVALID_VALUE;
  }

  static CUresult answered(CUresult code) { return code == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : code; }
  void* host(size_t buffer) const { return reinterpret_cast<void*>(pointers_[buffer]); }
  CUdeviceptr taken(size_t buffer) {
    const CUdeviceptr block = pointers_[buffer];
    pointers_[buffer] = 0;
    return block;
  }

  void give_back() {
    if (pool_) check(CU(cuMemPoolDestroy)(pool_), "cuMemPoolDestroy");
    for (CUstream stream : streams_)
      if (stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) CU(cuStreamDestroy)(stream);
  }

  json plan_;
  CUdevice device_ = 0;
  int n_multiprocessors_ = 0, shared_ = 0;
  std::map<std::string, CUfunction> functions_;
  std::vector<CUfunction> own_;
  CUdeviceptr sink_ = 0, counters_ = 0;
  size_t n_checks_ = 0;
  CUevent start_ = nullptr, end_ = nullptr;
  CUstream clock_ = nullptr;
  CUmemoryPool pool_ = nullptr;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_, end_events_;
  std::vector<uint64_t> words_, pointers_, zeros_;
  std::vector<std::unique_ptr<char[]>> pages_;
  std::vector<std::unique_ptr<Launch>> launches_;
  std::vector<Step> steps_;
};

int main(int n, char** arguments) {
  if (n != 2) {
    std::fprintf(stderr, "usage: replay PLAN.json\n");
    return 2;
  }
  std::ifstream file(arguments[1]);
  if (!file) {
    std::fprintf(stderr, "replay: cannot read %s\n", arguments[1]);
    return 2;
  }
  json plan = json::parse(file, nullptr, false);
  if (plan.is_discarded()) {
    std::fprintf(stderr, "replay: %s is no JSON\n", arguments[1]);
    return 2;
  }
  Driver driver;
  api = &driver;
  Replay replay(std::move(plan));
  std::printf("%s\n", replay.run().dump(1).c_str());
}
