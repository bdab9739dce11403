"""Is there a GPU that poolbench can use?  Asked before anything of CUDA is imported for good.

Works without packages, driver or device, and says in words what is missing.
"""

from __future__ import annotations

from importlib.util import find_spec


def _has_bindings() -> bool:
    try:
        return find_spec("cuda.bindings") is not None
    except ModuleNotFoundError:
        return False


def why_missing(ordinal: int = 0) -> str | None:
    """`None` if there is a GPU, else the reason.  Takes no memory of it."""
    if not _has_bindings():
        return "the package cuda-python is not installed"
    from poolbench.backends.cuda import driver

    try:
        count = driver.device_count()
    except driver.DriverError as fault:
        return f"the driver answers {fault}"
    except RuntimeError:  # cuda-python found no driver library
        return "no NVIDIA driver was found (libcuda.so.1)"
    if ordinal >= count:
        return "the driver sees no GPU"
    return None


def why_unusable(ordinal: int = 0) -> str | None:
    """`None` if the GPU can be used, else the reason."""
    reason = why_missing(ordinal)
    if reason is not None:
        return reason
    from poolbench.backends.cuda import driver

    device, _ = driver.initialise(ordinal)
    if not driver.device_attribute(device, "MEMORY_POOLS_SUPPORTED"):
        return "this GPU or driver has no memory pools"
    return None


def device_count() -> int:
    """How many GPUs the driver shows; 0 without packages or driver."""
    if not _has_bindings():
        return 0
    from poolbench.backends.cuda import driver

    try:
        return driver.device_count()
    except (driver.DriverError, RuntimeError):
        return 0


def machine() -> tuple[str, str]:
    """(name of the first GPU, version of the driver), "" for what cannot be had; takes no
    memory."""
    from poolbench.backends.cuda import driver, nvml

    try:
        driver.device_count()
        name = driver.device_name(0)
    except (driver.DriverError, RuntimeError):
        name = ""
    return name, nvml.driver_version() or ""


Fact = tuple[str, str, bool, str]
"""(what was looked at, what was found, whether that is fine, what to do)."""


def _nvrtc() -> Fact:
    from poolbench.backends.cuda import driver

    try:
        return ("NVRTC", driver.nvrtc_version(), True, "")
    except (RuntimeError, driver.CompileError) as fault:
        hint = "pip install 'cuda-toolkit[nvrtc]==13.*'"
        return ("NVRTC", f"not usable: {fault}", False, hint)


def _nvml() -> Fact:
    from poolbench.backends.cuda import nvml

    version = nvml.driver_version()
    found = f"driver {version}" if version else "not available"
    hint = "" if version else "clocks and throttle reasons will be missing from the results"
    return ("NVML", found, bool(version), hint)


def doctor_facts() -> list[Fact]:
    """What `poolbench doctor` tells of the GPU side."""
    if not _has_bindings():
        return [("cuda-python", "not installed", False, "pip install 'cuda-python==13.*'")]
    from poolbench.backends.cuda import driver

    facts: list[Fact] = [("cuda-python", "installed", True, ""), _nvrtc(), _nvml()]
    try:
        count = driver.device_count()
    except driver.DriverError as fault:
        hint = "is the kernel driver loaded, and may this user open /dev/nvidia*?"
        return [*facts, ("driver", str(fault), False, hint)]
    except RuntimeError:
        hint = "install the NVIDIA driver; until then --backend model works"
        return [*facts, ("driver", "no libcuda.so.1", False, hint)]
    facts.append(("driver", f"CUDA {driver.driver_cuda_version()}", True, ""))
    if not count:
        hint = "is CUDA_VISIBLE_DEVICES empty?"
        return [*facts, ("GPU", "none visible", False, hint)]
    device, _ = driver.initialise(0)
    major = driver.device_attribute(device, "COMPUTE_CAPABILITY_MAJOR")
    minor = driver.device_attribute(device, "COMPUTE_CAPABILITY_MINOR")
    free, total = driver.memory_info()
    name = driver.device_name(device)
    facts.append(("GPU 0", f"{name}, compute capability {major}.{minor}", True, ""))
    busy = total - free > total // 10
    found = f"{free // 2**20} of {total // 2**20} MiB free"
    facts.append(("memory", found, not busy, "another process uses this GPU" if busy else ""))
    for what, attribute in (
        ("memory pools", "MEMORY_POOLS_SUPPORTED"),
        ("stream latches", "CAN_USE_64_BIT_STREAM_MEM_OPS"),
        ("stream priorities", "STREAM_PRIORITIES_SUPPORTED"),
    ):
        has = bool(driver.device_attribute(device, attribute))
        facts.append((what, "supported" if has else "not supported", has, ""))
    return facts
