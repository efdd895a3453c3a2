"""One short program against the real torch_memory_saver under the simulator, with the guard or without.

    python -I -S -B guarded_worker.py '{"case": ..., "guarded": ..., "saver": ..., "out": ...}'

The text of a program is the same both ways: without the guard, its calls go straight to the package. In `out` is what
it returned or raised, unless it died.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib
import json
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[3]


class Unguarded:
    """The calls of a framework without the guard: nothing but the package."""

    def __init__(self, saver: Any, torch: Any) -> None:
        self.saver = saver
        self.torch = torch
        self.restorers: dict[str, Callable[[], None]] = {}

    def add_tag(self, name: str, **_declared: Any) -> None:
        pass

    def mark_restored(self, tag: str, *, contents: str | None = None) -> None:
        pass

    def pause(self, tag: str | None = None) -> None:
        self.saver.pause(tag)

    def resume(self, tag: str | None = None, *, restore: bool = True) -> None:
        self.saver.resume(tag)

    def region(self, tag: str = "default", enable_cpu_backup: bool = False) -> Any:
        return self.saver.region(tag, enable_cpu_backup=enable_cpu_backup)

    def disable(self) -> AbstractContextManager[None]:
        """As the wrappers of two frameworks around communication buffers, which touch the flag themselves."""
        if self.saver._impl is None:
            return nullcontext()
        library = self.saver._impl._binary_wrapper.cdll

        class Flag(AbstractContextManager[None]):
            def __enter__(self) -> None:
                library.tms_set_interesting_region(ctypes.c_bool(0))

            def __exit__(self, kind: object, *_: object) -> None:
                if kind is None:
                    library.tms_set_interesting_region(ctypes.c_bool(1))

        return Flag()

    def empty_cache(self) -> None:
        self.torch.cuda.empty_cache()

    def epoch(self, tag: str) -> int:
        return 0

    def save(self, **_asked: Any) -> AbstractContextManager[None]:
        return nullcontext()

    step = update = save

    def section(self, what: str, **_asked: Any) -> AbstractContextManager[None]:
        return nullcontext()

    hold = section

    def mark_gradients_dirty(self) -> None:
        pass


class World:
    """What a program has."""

    def __init__(self, job: dict[str, Any]) -> None:
        stand_ins = [] if job["torch"] else [str(ROOT / "patchkit/tms/simulator/stand_ins")]
        sys.path[:0] = [*stand_ins, job["saver"], str(ROOT), str(ROOT / "tests/cpu/tms")]
        torch = importlib.import_module("torch")
        if job["torch"]:
            torch.get_device_module = lambda: torch.cuda  # type: ignore[attr-defined]
            torch.cuda.current_device = lambda: 0
        self.memory = importlib.import_module("device_memory").Memory(torch)
        self.saver = importlib.import_module("torch_memory_saver").torch_memory_saver
        self.guard: Any = Unguarded(self.saver, torch)
        self.torch_mode = job["hook"] == "torch"
        if self.torch_mode:
            self.saver.hook_mode = "torch"
        if job["guarded"]:
            options = OPTIONS.get(job["case"], {})
            self.guard = importlib.import_module("patchkit.tms.guard").OffloadGuard(self.saver, **options)
        self.torch = torch
        self.simulator = ctypes.CDLL("libcuda.so.1")
        self.simulator.patchkit_sim_device_bytes.restype = ctypes.c_size_t

    @property
    def host_bytes(self) -> int:
        self.simulator.patchkit_sim_host_bytes.restype = ctypes.c_size_t
        return int(self.simulator.patchkit_sim_host_bytes())

    @property
    def device_bytes(self) -> int:
        return int(self.simulator.patchkit_sim_device_bytes())

    def torch_tensor(self, memory: Any) -> Any:
        """A tensor of bytes that lies there."""
        block = (ctypes.c_char * (1 << 20)).from_address(memory.address)
        return self.torch.frombuffer(block, dtype=self.torch.uint8)

    def cpu_backup(self, tensor: Any) -> Any:
        """The backup of the guard; without it, that of the package."""
        if isinstance(self.guard, Unguarded):
            # It insists on tensors of CUDA, and then does this.
            assert tensor.is_contiguous()
            library = self.saver._impl._binary_wrapper.cdll
            address = ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_uint8))
            found = library.tms_get_cpu_backup_pointer(address, tensor.nbytes)
            if not found:
                return None
            block = (ctypes.c_char * tensor.nbytes).from_address(ctypes.cast(found, ctypes.c_void_p).value)
            return self.torch.frombuffer(block, dtype=self.torch.uint8).view(tensor.shape)
        return importlib.import_module("patchkit.tms.backups").cpu_backup(tensor, self.guard)

    def optimizer(self, value: int = 5) -> Any:
        """Memory with a backup under the tag default, which only in hook mode torch needs a region for that."""
        if not self.torch_mode:
            return self.memory.allocate(value)
        with self.guard.region("default", enable_cpu_backup=True):
            return self.memory.allocate(value)

    def parameters(self, *, restore: bool = True, **declared: Any) -> Any:
        """A parameter buffer without backup that holds sevens, and its restorer."""
        restorer = (lambda: tensor.fill(7)) if restore else None
        self.guard.add_tag("param_buffer", backup=False, restore=restorer, **declared)
        with self.guard.region("param_buffer"):
            tensor: Any = self.memory.allocate(7)
        return tensor

    def gradients(self) -> Any:
        """A gradient buffer without backup."""
        self.guard.add_tag("grad_buffer", backup=False, buffers=lambda: [tensor])
        with self.guard.region("grad_buffer"):
            tensor: Any = self.memory.allocate(0)
        return tensor


def host_room() -> int:
    """What one MiB of host memory has left beside the backups."""
    simulator = ctypes.CDLL("libcuda.so.1")
    simulator.patchkit_sim_host_bytes.restype = ctypes.c_size_t
    return (1 << 20) - int(simulator.patchkit_sim_host_bytes())


OPTIONS: dict[str, dict[str, Any]] = {
    "host_bytes_of_a_cycle_by_the_option": {"retain_backups": True},
    "sleep_again_with_what_was_retained": {"retain_backups": True, "host_memory": host_room},
    "sleep_again_with_more_than_was_retained": {"retain_backups": True, "host_memory": host_room},
    "sleep_without_room_on_the_host": {"host_memory": lambda: 1 << 20},
    "wake_while_the_engine_has_the_device": {"device_memory": lambda: 1 << 20},
}
"""Of the guard, by program."""

# --- programs -----------------------------------------------------------


def second_sleep(world: World) -> Any:
    optimizer = world.optimizer()
    world.guard.pause()
    world.guard.pause()
    world.guard.resume()
    return optimizer.read()


def second_wake(world: World) -> Any:
    optimizer = world.optimizer()
    world.guard.pause()
    world.guard.resume()
    world.guard.resume()
    return optimizer.read()


def save_while_asleep(world: World) -> Any:
    optimizer = world.optimizer()
    world.guard.pause()
    with world.guard.save():
        return optimizer.read()


def save_unrestored(world: World) -> Any:
    parameters = world.parameters()
    world.guard.pause()
    world.guard.resume(restore=False)
    with world.guard.save():
        return parameters.read()


def wake_and_save(world: World) -> Any:
    parameters = world.parameters()
    world.guard.pause()
    world.guard.resume()
    with world.guard.save():
        return parameters.read()


def nobody_restores(world: World) -> Any:
    parameters = world.parameters(restore=False)
    world.guard.pause()
    world.guard.resume()
    return parameters.read()


def parameters_stay_active(world: World) -> Any:
    parameters, optimizer = world.parameters(), world.optimizer()
    world.gradients()
    world.guard.pause("grad_buffer")
    world.guard.pause("default")
    # The update that would have paused the parameters is left out.
    world.guard.resume()
    return [parameters.read(), optimizer.read()]


def pause_by_name_resume_all(world: World) -> Any:
    with world.guard.region("shared_param_grad_buffer", enable_cpu_backup=True):
        shared = world.memory.allocate(6)
    world.gradients()
    optimizer = world.optimizer()
    world.guard.pause("default")
    world.guard.pause("grad_buffer")
    world.guard.resume()
    return [shared.read(), optimizer.read()]


def allocate_while_asleep(world: World) -> Any:
    world.optimizer()
    world.guard.pause()
    with world.guard.update(reads=()):
        groups = world.memory.allocate(1)
    world.guard.resume()
    return groups.read()


def allocate_untracked_while_asleep(world: World) -> Any:
    optimizer = world.optimizer()
    world.guard.pause()
    with world.guard.update(reads=()), world.guard.disable():
        sent = world.memory.allocate(1)
    world.guard.resume()
    return [optimizer.read(), sent.read()]


def free_while_asleep(world: World) -> Any:
    world.optimizer().free()
    world.guard.pause()
    world.guard.empty_cache()
    return world.device_bytes


def sleep_again_after_emptying_the_cache(world: World) -> Any:
    optimizer = world.optimizer()
    for _ in range(2):
        world.memory.allocate(4).free()
        world.guard.empty_cache()
        world.guard.pause()
        world.guard.resume()
    return optimizer.read()


def communication_buffer_before_the_first_use(world: World) -> Any:
    with world.guard.disable():
        buffer = world.memory.allocate(3)
    world.optimizer()
    world.guard.pause()
    return buffer.read()


def communication_buffer_that_fails(world: World) -> Any:
    world.memory.allocate(4)
    world.guard.pause()
    world.guard.resume()
    try:
        with world.guard.disable():
            raise OSError
    except OSError:
        pass
    world.optimizer()
    world.guard.pause()
    return world.device_bytes


def communication_buffer_where_nothing_is_tracked(world: World) -> Any:
    world.guard.pause()
    world.guard.resume()
    with world.guard.disable():
        world.memory.allocate(3)
    world.memory.allocate(4)
    world.guard.pause()
    return world.device_bytes


def region_inside_a_tracked_process(world: World) -> Any:
    return world.parameters().read()


def disk_backup(world: World) -> Any:
    optimizer = world.optimizer()
    world.guard.pause()
    world.guard.resume()
    return optimizer.read()


def one_tag_of_two_resumed(world: World) -> Any:
    with world.guard.region("adapter", enable_cpu_backup=True):
        adapter = world.memory.allocate(8)
    world.optimizer()
    world.guard.pause()
    world.guard.resume("default")
    with world.guard.step():
        return adapter.read()


def sleep_in_an_open_step(world: World) -> Any:
    gradients = world.gradients()
    gradients.fill(9)
    world.guard.mark_gradients_dirty()
    world.guard.pause()
    world.guard.resume()
    return gradients.read()


def shortcut_by_name(world: World) -> Any:
    parameters = world.parameters()
    active = ("actor", world.guard.epoch("param_buffer"))
    world.guard.pause()
    world.guard.resume(restore=False)
    if active != ("actor", world.guard.epoch("param_buffer")):
        world.guard.restore()
    return parameters.read()


def groups_alive_at_the_pause(world: World) -> Any:
    registered = world.optimizer()
    with world.guard.hold("process groups"):
        world.guard.pause()
        return registered.read()


def gather_in_the_gradient_buffer(world: World) -> Any:
    gradients = world.gradients()
    with world.guard.hold("parameter gather", tags=["grad_buffer"]):
        gradients.fill(7)
        world.guard.pause("grad_buffer")
        world.guard.resume()
    return gradients.read()


def backup_of_gradients(world: World) -> Any:
    """The pointer of a paused buffer without backup."""
    tensor = world.torch_tensor(world.gradients())
    world.guard.pause()
    return world.cpu_backup(tensor)


def backup_of_untracked_memory(world: World) -> Any:
    world.guard.pause()
    world.guard.resume()
    with world.guard.disable():
        tensor = world.torch_tensor(world.memory.allocate(3))
    world.guard.pause()
    return world.cpu_backup(tensor).sum().item()


def backup_in_place(world: World) -> Any:
    tensor = world.torch_tensor(world.optimizer())
    part = tensor.view(1024, 1024).t()[3:5]
    world.guard.pause()
    view = world.cpu_backup(part)
    found = [list(view.shape), view.stride() == part.stride(), int(view.sum()), view.dtype == part.dtype]
    # Without a copy: what is written there is what comes back.
    view.fill_(6)
    del view
    world.guard.resume()
    return [*found, int(part.sum())]


def backup_of_a_storage_with_a_rest(world: World) -> Any:
    """Ten bytes, of which two more would be a third number."""
    memory = world.optimizer()
    block = (ctypes.c_char * 10).from_address(memory.address)
    storage = world.torch.frombuffer(block, dtype=world.torch.uint8).untyped_storage()
    tensor = world.torch.empty(0).set_(storage, 0, (2,))
    world.guard.pause()
    view = world.cpu_backup(tensor)
    return [list(view.shape), view.view(world.torch.uint8).tolist()]


def backup_read_after_the_resume(world: World) -> Any:
    tensor = world.torch_tensor(world.optimizer())
    world.guard.pause()
    view = world.cpu_backup(tensor)[7:]
    world.guard.resume()
    return int(view.sum())


def backups_of_conjugates_and_negations(world: World) -> Any:
    """What a tensor says of itself is not in its memory: active and paused it has to be the same."""
    tensor = world.torch_tensor(world.optimizer())
    tensors = [tensor.view(world.torch.complex64).conj(), tensor.view(world.torch.complex64).conj().imag]
    active = [world.cpu_backup(each) for each in tensors]
    world.guard.pause()
    paused = [world.cpu_backup(each) for each in tensors]
    return [
        [bool(each.is_conj()), bool(each.is_neg()), bool((before == after).all())]
        for each, before, after in zip(tensors, active, paused, strict=True)
    ]


def backup_kept_from_an_earlier_pause(world: World) -> Any:
    world.saver.retain_cpu_backup = True
    memory = world.optimizer()
    tensor = world.torch_tensor(memory)
    world.guard.pause()
    world.guard.resume()
    memory.fill(6)
    return int(world.cpu_backup(tensor)[0])


def backup_in_an_old_build(world: World) -> Any:
    tensor = world.torch_tensor(world.optimizer())
    active = int(world.cpu_backup(tensor)[0])
    world.guard.pause()
    return [active, world.cpu_backup(tensor)]


def verify_placement(world: World) -> Any:
    placement = importlib.import_module("patchkit.tms.placement")
    inside, outside, backed = world.parameters(), world.memory.allocate(), world.memory.allocate()
    with world.guard.disable():
        untracked = world.memory.allocate()
    buffers = [
        placement.Buffer("param_data", inside, "param_buffer", backup=False),
        placement.Buffer("optimizer", backed, "default", backup=True),
        placement.Buffer("extra_main_grads[0]", outside, "grad_buffer", backup=False),
        placement.Buffer("exported", untracked, "default", backup=True),
    ]
    placement.verify_buffers(buffers, world.saver).require()


def empty_the_cache_after_a_cycle(world: World) -> Any:
    parameters, temporary = world.parameters(), world.optimizer(4)
    world.guard.pause()
    world.guard.resume()
    temporary.free()
    world.guard.empty_cache()
    return parameters.read()


def train_after_the_reference(world: World) -> Any:
    parameters = world.parameters(contents="actor")
    parameters.fill(3)
    world.guard.mark_restored("param_buffer", contents="ref")
    with world.guard.step(contents={"param_buffer": "actor"}):
        return parameters.read()


def switch_back_before_training(world: World) -> Any:
    parameters = world.parameters(contents="actor")
    world.guard.pause()
    world.guard.resume()
    parameters.fill(7)
    with world.guard.step(contents={"param_buffer": "actor"}):
        return parameters.read()


def generate_before_the_update(world: World) -> Any:
    with world.guard.region("weights"):
        weights = world.memory.allocate(7)
    world.guard.add_tag("weights", backup=False, later=True)
    world.guard.pause()
    world.guard.resume()
    with world.guard.section("generate", reads=["weights"]):
        return weights.read()


def generate_after_the_update(world: World) -> Any:
    with world.guard.region("weights"):
        weights = world.memory.allocate(7)
    world.guard.add_tag("weights", backup=False, later=True)
    world.guard.pause()
    world.guard.resume()
    weights.fill(8)
    world.guard.mark_restored("weights")
    with world.guard.section("generate", reads=["weights"]):
        return weights.read()


def sleep_without_room_on_the_host(world: World) -> Any:
    world.optimizer(4)
    optimizer = world.optimizer()
    world.guard.pause()
    return optimizer.read()


def sleep_again_with_what_was_retained(world: World, more: int = 0) -> Any:
    """As where the state of the optimizer comes with the first step: it was not there at the first pause."""
    world.saver.retain_cpu_backup = True
    optimizer = world.optimizer()
    world.guard.pause()
    world.guard.resume()
    for _ in range(more):
        world.optimizer(4)
    world.guard.pause()
    world.guard.resume()
    return optimizer.read()


def sleep_again_with_more_than_was_retained(world: World) -> Any:
    return sleep_again_with_what_was_retained(world, more=1)


def wake_while_the_engine_has_the_device(world: World) -> Any:
    """The device has room for three; the engine has two of them, and training had two."""
    world.optimizer(4)
    optimizer = world.optimizer()
    world.guard.pause()
    with world.guard.disable():
        world.memory.allocate(1)
        world.memory.allocate(1)
    world.guard.resume()
    return optimizer.read()


def optimizer_state_of_a_checkpoint_elsewhere(world: World) -> Any:
    placement = importlib.import_module("patchkit.tms.placement")
    world.guard.pause()
    world.guard.resume()
    with world.guard.disable():
        loaded = world.memory.allocate(5)
    parameter = object()
    adam = SimpleNamespace(param_groups=[{"params": [parameter]}], state={parameter: {"exp_avg": loaded}})
    if not isinstance(world.guard, Unguarded):
        buffers = placement.optimizer_buffers(SimpleNamespace(optimizer=adam))
        placement.verify_buffers(buffers, world.saver).require()
    world.guard.pause()
    return world.device_bytes


def resumed_by_somebody_else(world: World) -> Any:
    parameters, optimizer = world.parameters(), world.optimizer()
    world.guard.pause()
    world.saver.resume()
    world.guard.resume()
    world.guard.restore()
    return [parameters.read(), optimizer.read()]


def paused_by_somebody_else(world: World) -> Any:
    parameters, optimizer = world.parameters(), world.optimizer()
    world.saver.pause("param_buffer")
    world.guard.pause()
    world.guard.resume()
    return [parameters.read(), optimizer.read()]


def buffers_that_nobody_named(world: World) -> Any:
    """Gradients of experts lie in buffers of their own, which are forgotten here."""
    with world.guard.region("grad_buffer"):
        dense, experts = world.memory.allocate(0), world.memory.allocate(0)
    world.guard.add_tag("grad_buffer", backup=False, buffers=lambda: [dense])
    experts.fill(9)
    world.guard.pause()
    world.guard.resume()
    return experts.read()


def host_bytes_of_a_cycle(world: World) -> Any:
    """On the host asleep and awake: of a backed optimizer and a parameter buffer without backup."""
    with world.guard.region("optimizer", enable_cpu_backup=True):
        world.memory.allocate(5)
        world.memory.allocate(5)
    world.parameters()
    world.guard.pause()
    asleep = world.host_bytes
    world.guard.resume()
    return [asleep, world.host_bytes]


def host_bytes_of_a_cycle_that_retains(world: World) -> Any:
    world.saver.retain_cpu_backup = True
    return host_bytes_of_a_cycle(world)


def host_bytes_of_a_cycle_by_the_option(world: World) -> Any:
    return host_bytes_of_a_cycle(world)


def lines_of_the_page(world: World) -> Any:
    """Those of docs/adopting.md, with two buffers of DDP, one of experts; what is called is the package's own."""
    page = (ROOT / "docs" / "adopting.md").read_text(encoding="utf-8")
    (lines,) = [block.partition("```")[0] for block in page.split("```python\n") if "guard = OffloadGuard()" in block]
    kept = []
    for _ in range(2):
        with world.saver.region("param_buffer"):
            parameters = world.memory.allocate(7)
        with world.saver.region("grad_buffer"):
            kept.append(SimpleNamespace(param_data=parameters, grad_data=world.memory.allocate(9)))
    names = {
        "model": [SimpleNamespace(buffers=kept[:1], expert_parallel_buffers=kept[1:])],
        "copy_weights_back": lambda: [each.param_data.fill(7) for each in kept],
    }
    exec(textwrap.dedent(lines), names)  # noqa: S102 - our own page
    for _ in range(2):
        world.saver.pause()
        world.saver.pause()
        world.saver.resume()
    return [[each.param_data.read(), each.grad_data.read()] for each in kept]


def second_guard(world: World) -> Any:
    optimizer = world.optimizer()
    guards = [world.guard, Unguarded(world.saver, world.torch)]
    if not isinstance(world.guard, Unguarded):
        guards[1] = type(world.guard)(world.saver)
    for guard in guards:
        guard.pause()
    return optimizer.read()


def tag_without_a_name(world: World) -> Any:
    optimizer = world.optimizer()
    with world.guard.region("", enable_cpu_backup=True):
        world.memory.allocate(6)
    world.guard.pause("")
    return optimizer.read()


def pause_while_another_thread_allocates(world: World) -> Any:
    inside, paused = threading.Event(), threading.Event()
    found = []

    def load() -> None:
        with world.guard.region("weights", enable_cpu_backup=True):
            tensor = world.memory.allocate(6)
            inside.set()
            paused.wait(10)
            tensor.fill(7)
            found.append(tensor.read())

    loading = threading.Thread(target=load)
    loading.start()
    inside.wait(10)
    try:
        world.guard.pause()
    finally:
        paused.set()
        loading.join()
    return found


def free_under_a_view(world: World) -> Any:
    """The view keeps the memory from being freed; without it, its backup would be given back."""
    memory = world.optimizer()
    tensor = world.torch_tensor(memory)
    freed = weakref.finalize(tensor.untyped_storage(), memory.free)
    world.guard.pause()
    view = world.cpu_backup(tensor)
    del tensor
    world.guard.empty_cache()
    return [freed.alive, int(view[0])]


def capabilities(world: World) -> Any:
    found = dataclasses.asdict(world.guard.capabilities)
    return sorted(name for name, there in found.items() if there)


def main() -> None:
    """Run the program; what it raises is an answer."""
    job = json.loads(sys.argv[1])
    world = World(job)
    try:
        answer = {"returned": globals()[job["case"]](world)}
    except Exception as error:
        answer = {"raised": type(error).__name__, "text": str(error).replace(__file__, "worker")}
    Path(job["out"]).write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()


main()
# What the library does at the end of a process is tried out elsewhere.
importlib.import_module("os")._exit(0)
