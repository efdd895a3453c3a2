"""Which tensor storages are allocated, and under which region of the recording stand-in."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple


class Allocation(NamedTuple):
    """One storage that got memory."""

    operator: str  # such as "aten.zeros.default", or "resize_" for a storage that grew
    size: int  # bytes
    storage: Any  # kept, so that no later storage takes its identity
    region: int | None  # index into the log of entered regions


class Recorder(AbstractContextManager["Recorder"]):
    """While open, note every storage that an operator makes or that grows."""

    def __init__(self, saver: Any) -> None:
        self._torch = importlib.import_module("torch")
        base = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
        self._mode = type("Allocations", (base,), {"__torch_dispatch__": self._dispatcher()})()
        self._plain_resize = self._torch.UntypedStorage.resize_
        self._saver = saver
        self._first_region = len(saver.entered)
        self.allocations: list[Allocation] = []

    def __enter__(self) -> "Recorder":
        self._torch.UntypedStorage.resize_ = self._resizer()
        self._mode.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mode.__exit__(kind, error, trace)
        self._torch.UntypedStorage.resize_ = self._plain_resize

    def regions(self, names: Mapping[int, str]) -> list[dict[str, object]]:
        """Each region entered, in order, with what was allocated in it, by name if it has one."""
        entered = self._saver.entered
        return [
            {**entered[index], "allocated": [self._name(a, names) for a in self.allocations if a.region == index]}
            for index in range(self._first_region, len(entered))
        ]

    def outside(self, names: Mapping[int, str]) -> list[str]:
        """The named storages that were allocated in no region."""
        return [
            self._name(allocation, names)
            for allocation in self.allocations
            if allocation.region is None and identity(allocation.storage) in names
        ]

    def sizes(self) -> list[str]:
        """Everything allocated, in order, as operator and bytes."""
        return [self._name(allocation, {}) for allocation in self.allocations]

    @staticmethod
    def _name(allocation: Allocation, names: Mapping[int, str]) -> str:
        unknown = f"{allocation.operator}: {allocation.size} bytes"
        return names.get(identity(allocation.storage), unknown)

    def _note(self, operator: str, storage: Any) -> None:
        self.allocations.append(Allocation(operator, storage.nbytes(), storage, self._saver.active))

    def _dispatcher(self) -> Callable[..., Any]:
        def dispatch(
            _mode: Any,
            operator: Callable[..., Any],
            _types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            options = kwargs or {}
            seen = {identity(storage) for storage in self._storages((args, options))}
            made = operator(*args, **options)
            for storage in self._storages(made):
                if identity(storage) not in seen:
                    seen.add(identity(storage))
                    self._note(str(operator), storage)
            return made

        return dispatch

    def _storages(self, values: Any) -> Iterator[Any]:
        """The storages of all tensors in nested arguments."""
        if isinstance(values, self._torch.Tensor):
            yield values.untyped_storage()
        elif isinstance(values, (list, tuple)):
            for value in values:
                yield from self._storages(value)
        elif isinstance(values, dict):
            yield from self._storages(tuple(values.values()))

    def _resizer(self) -> Callable[[Any, int], Any]:
        def resize(storage: Any, size: int) -> Any:
            grows = size > storage.nbytes()
            answer = self._plain_resize(storage, size)
            if grows:
                self._note("resize_", storage)
            return answer

        return resize


def identity(storage: Any) -> int:
    """The address of the storage object itself, which stays when its memory is freed or moved."""
    return int(storage._cdata)
