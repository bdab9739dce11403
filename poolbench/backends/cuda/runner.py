"""One device, for the life of a worker: plans in, traces out.

Turns every fault of a run into a status of its trace; `is_dead` says that the context is lost and
the worker must be replaced.
"""

from __future__ import annotations

from poolbench.analysis.outcomes import classify
from poolbench.backends.cuda import driver, nvml
from poolbench.backends.cuda.burst import Issuer
from poolbench.backends.cuda.clock import Clock, host_call_floor
from poolbench.backends.cuda.device import STICKY, Device
from poolbench.backends.cuda.kernels import Kernels, Unsupported
from poolbench.backends.cuda.latch import Latches
from poolbench.backends.cuda.ranges import ranges
from poolbench.backends.cuda.resources import Ballast, LastingBuffers, Mismatch
from poolbench.backends.cuda.run import Run
from poolbench.domain import BackendKind, Pass, Status
from poolbench.plan.plan import Plan
from poolbench.results.environment import Environment, Floors
from poolbench.results.packages import packages, platform_name, python_version
from poolbench.trace import Trace


class Runner:
    """Owns the context, the kernels and everything else that lasts."""

    def __init__(self, ordinal: int, *, has_ranges: bool = False, loop: str | None = None) -> None:
        """`has_ranges`: runs are marked for a profiler; `loop`: see `Issuer.make`."""
        handle, _ = driver.initialise(ordinal)
        kernels = Kernels(handle)
        clock = Clock(kernels)
        start, end, base = (driver.create_event(driver.TIMING) for _ in range(3))
        self._device = Device(
            ordinal=ordinal,
            handle=handle,
            kernels=kernels,
            latches=Latches(),
            clock=clock,
            lasting=LastingBuffers(),
            ballast=Ballast(),
            start=start,
            end=end,
            base=base,
            issuer=Issuer.make(loop),
            ranges=ranges(is_wanted=has_ranges),
        )
        self._floors = Floors(
            event_pair_ns=clock.event_floor(),
            clock_error_ns=clock.align().error_ns,
            host_call_ns=host_call_floor(),
            launch_ns=clock.launch_floor(),
            kernel_ns=clock.kernel_floor(),
        )

    @property
    def is_dead(self) -> bool:
        return self._device.is_dead

    def environment(self) -> Environment:
        handle = self._device.handle
        major = driver.device_attribute(handle, "COMPUTE_CAPABILITY_MAJOR")
        minor = driver.device_attribute(handle, "COMPUTE_CAPABILITY_MINOR")
        return Environment(
            backend=BackendKind.CUDA.value,
            device=driver.device_name(handle),
            driver=nvml.driver_version(),
            cuda=driver.driver_cuda_version(),
            compute_capability=f"{major}.{minor}",
            n_multiprocessors=self._device.kernels.n_multiprocessors,
            memory_total=driver.memory_info()[1],
            clocks=nvml.clock_state(driver.device_uuid(handle)),
            floors=self._floors,
            platform=platform_name(),
            python=python_version(),
            packages=packages(),
            issue_loop=self._device.issuer.text,
        )

    def run(self, plan: Plan, *, measured: Pass, repetition: int) -> Trace:
        """Never raises for what the plan does to the device: it is a status of the trace."""
        run = Run(self._device, plan, measured)
        ending = run.ending
        try:
            self._device.kernels.compile_own(plan.kernels)
            with run.resources():
                run.iterations()
        except driver.CompileError as fault:
            ending.status, ending.reason = Status.ERROR, str(fault)
        except Mismatch as fault:
            ending.status, ending.reason = Status.ERROR, str(fault)
        except Unsupported as fault:
            ending.status, ending.reason = Status.UNSUPPORTED, str(fault)
        except driver.DriverError as fault:
            ending.status = {
                driver.OUT_OF_MEMORY: Status.OUT_OF_MEMORY,
                driver.NOT_SUPPORTED: Status.UNSUPPORTED,
            }.get(fault.code, Status.ERROR)
            ending.reason = f"outside the steps: {fault}"
            ending.is_fatal |= fault.code in STICKY
        except RuntimeError as fault:  # cuda-python: this driver is too old for a call
            ending.status, ending.reason = Status.UNSUPPORTED, str(fault)
        self._device.is_dead |= ending.is_fatal
        steps = run.finish()
        if steps is not None:
            steps = classify(plan, steps, event_floor_ns=self._floors.event_pair_ns)
        return Trace(
            case=plan.case,
            backend=BackendKind.CUDA,
            measured=measured,
            repetition=repetition,
            status=ending.status,
            reason=ending.reason,
            makespan_ns=run.makespan_ns,
            host_ns=run.host_ns,
            reserved_high=run.marks.reserved_high,
            used_high=run.marks.used_high,
            reserved_end=run.marks.reserved_end,
            used_end=run.marks.used_end,
            graph_reserved_high=run.graph_memory.reserved_high,
            graph_used_high=run.graph_memory.used_high,
            n_out_of_memory=run.n_out_of_memory,
            failed_row=ending.failed_row,
            n_corrupt=run.n_corrupt,
            latches=tuple(run.openings),
            steps=steps,
        )
