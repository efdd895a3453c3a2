"""What an ELF library needs, offers and asks for, read without loading it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from patchkit.errors import TmsFileError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_CUDA_RUNTIME = re.compile(r"libcudart\.so\.(\d+)")
_HIP_RUNTIME = re.compile(r"libamdhip64\.so(\.\d+)*")


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library, as its dynamic section and symbols describe it."""

    machine: str
    """Such as ``EM_X86_64``."""
    needed: tuple[str, ...]
    """Libraries that the loader must find, in its order."""
    search_path: tuple[str, ...]
    """RUNPATH, else RPATH."""
    exports: frozenset[str]
    """Functions and objects that others can use, without symbol versions."""
    imports: frozenset[str]
    """Symbols that another library has to give."""

    @property
    def cuda_major(self) -> int | None:
        """The CUDA major it is linked against; None when it needs no CUDA runtime."""
        majors = [int(found[1]) for name in self.needed if (found := _CUDA_RUNTIME.fullmatch(name))]
        return majors[0] if majors else None

    @property
    def is_rocm(self) -> bool:
        """Whether it is linked against ROCm."""
        return any(_HIP_RUNTIME.fullmatch(name) for name in self.needed)


@lru_cache(maxsize=8)
def read_library(content: bytes, name: str) -> Library:
    """Read a library; ``name`` is for messages. Raises TmsFileError when it is no intact ELF library.

    Reading takes a tenth of a second, so the last few are kept.
    """
    from elftools.common.exceptions import ELFError  # noqa: PLC0415 - 60 ms that only reading a library needs
    from elftools.construct import ConstructError  # noqa: PLC0415 - as above
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415 - as above

    try:
        return _described(ELFFile(io.BytesIO(content)))
    except (ELFError, ConstructError, UnicodeDecodeError, ValueError, KeyError, AttributeError, TypeError) as error:
        # On damaged tables pyelftools raises whatever its parsing stumbles over.
        raise TmsFileError(f"{name} is no intact ELF library: {str(error) or type(error).__name__}") from error


def _described(elf: ELFFile) -> Library:
    from elftools.elf.dynamic import DynamicSection  # noqa: PLC0415 - as in read_library

    dynamic = next((part for part in elf.iter_sections() if isinstance(part, DynamicSection)), None)
    if dynamic is None:
        raise ValueError("it has no dynamic section")
    tags: list[Any] = list(dynamic.iter_tags())
    paths = {tag.entry.d_tag: str(getattr(tag, "runpath", getattr(tag, "rpath", ""))) for tag in tags}
    path = paths["DT_RUNPATH"] if "DT_RUNPATH" in paths else paths.get("DT_RPATH", "")
    symbols = _symbols(elf)
    return Library(
        machine=str(elf["e_machine"]),
        needed=tuple(str(tag.needed) for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
        search_path=tuple(part for part in path.split(":") if part),
        exports=frozenset(name for name, defined in symbols if defined),
        imports=frozenset(name for name, defined in symbols if not defined),
    )


def _symbols(elf: ELFFile) -> list[tuple[str, bool]]:
    """Return the names in the dynamic symbol table, and whether each is defined in the library."""
    table: Any = elf.get_section_by_name(".dynsym")
    if table is None:
        raise ValueError("it has no dynamic symbols")
    return [
        (symbol.name, symbol.entry.st_shndx != "SHN_UNDEF")
        for symbol in table.iter_symbols()
        if symbol.name and symbol.entry.st_info.bind != "STB_LOCAL"
    ]
