"""Where buffers lie, from the pools of torch_memory_saver and torch's snapshot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import PlacementError
from patchkit.tms.placement import (
    Backup,
    Buffer,
    Misplaced,
    Placement,
    Placements,
    ddp_buffers,
    optimizer_buffers,
    placements_of,
    verify_buffers,
)

INIT = {"TMS_INIT_ENABLE": "1", "TMS_INIT_ENABLE_CPU_BACKUP": "1"}
UNBACKED = Placement("grad_buffer", Backup.NONE)


def saver(*keys: tuple[Any, ...]) -> Any:
    pools = {key: SimpleNamespace(id=(0, number)) for number, key in enumerate(keys, 1)}
    return SimpleNamespace(_impl=SimpleNamespace(_mem_pools=pools))


def segment(address: int, size: int, pool: tuple[int, int], used: int = 0) -> dict[str, Any]:
    return {"address": address, "total_size": size, "allocated_size": used, "segment_pool_id": pool}


def tensor(address: int, size: int) -> Any:
    return SimpleNamespace(data_ptr=lambda: address, numel=lambda: size // 2, element_size=lambda: 2)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # (tag, host backup): dc68769 to 6d5bce4. With disk backup: 39093d6. With backend and device: 0.0.10.
        (("grad_buffer", False), UNBACKED),
        (("grad_buffer", True), Placement("grad_buffer", Backup.HOST)),
        (("grad_buffer", False, True), Placement("grad_buffer", Backup.DISK)),
        (("grad_buffer", False, False, "", 0), UNBACKED),
        (("grad_buffer", True, False, "pinned", 0), Placement("grad_buffer", Backup.HOST)),
        # A number there would be a device.
        (("grad_buffer", False, 1), UNBACKED),
    ],
)
def test_a_pool_is_known_by_the_key_of_its_region(key: tuple[Any, ...], expected: Placement) -> None:
    found = placements_of(saver(key), snapshot=[segment(100, 50, (0, 1))], environment={})

    assert found is not None
    assert [found.at(100, 50), found.at(120, 10), found.at(149, 2), found.at(99, 1), found.at(500, 1)] == [
        expected,
        expected,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        (INIT, Placement("default", Backup.HOST)),
        ({**INIT, "TMS_INIT_ENABLE": "0"}, None),
        ({**INIT, "TMS_INIT_ENABLE_CPU_BACKUP": "0"}, Placement("default", Backup.NONE)),
        (
            {"TMS_INIT_ENABLE": "yes", "TMS_INIT_ENABLE_DISK_BACKUP": "TRUE"},
            Placement("default", Backup.DISK),
        ),
    ],
)
def test_outside_regions_memory_is_as_the_process_was_started(
    environment: dict[str, str], expected: Placement | None
) -> None:
    found = placements_of(saver(), snapshot=[segment(100, 50, (0, 0))], environment=environment)

    assert found is not None
    assert found.at(100, 50) == expected


def test_in_hook_mode_torch_nothing_outside_regions_is_tracked() -> None:
    torch_mode = saver()
    torch_mode._impl._hook_mode = "torch"
    found = placements_of(torch_mode, snapshot=[segment(100, 50, (0, 0))], environment=INIT)

    assert found is not None
    assert found.at(100, 50) is None
    assert found.untracked_bytes() == 50


def test_what_was_asked_for_is_counted_where_torch_says_it() -> None:
    used = {"state": "active_allocated", "size": 8, "requested_size": 5}
    freed = {"state": "inactive", "size": 8, "requested_size": 7}
    # Freed, and still in use by a stream.
    awaited = {"state": "active_awaiting_free", "size": 8, "requested_size": 3}
    told = [{**segment(at, 16, (0, 1)), "blocks": [used, freed, awaited]} for at in (0, 16)]
    untold = {**segment(32, 16, (0, 2)), "blocks": [{"state": "active_allocated", "size": 8}]}
    other = segment(48, 16, (0, 9))
    pools = saver(("grad_buffer", False), ("param_buffer", True))
    found = placements_of(pools, snapshot=[*told, untold, other, segment(64, 4, (0, 1))], environment={})
    assert found is not None
    # One segment of the tag has no blocks, as with an older torch.
    assert found.requested_bytes("grad_buffer") is None
    found = placements_of(pools, snapshot=[*told, untold, other], environment={})
    assert found is not None

    assert [found.requested_bytes(tag) for tag in ("grad_buffer", "param_buffer", "none")] == [10, None, 0]
    assert {tag: sum(sizes.values()) for tag, sizes in found.by_backup(Backup.HOST).items()} == {"param_buffer": 16}
    assert {tag: sum(sizes.values()) for tag, sizes in found.by_backup(Backup.NONE).items()} == {"grad_buffer": 32}
    assert found.untracked_bytes() == 16


def test_memory_of_other_pools_is_not_tracked() -> None:
    snapshot = [segment(0, 8, (0, 1), 4), segment(8, 8, (0, 1), 8), segment(16, 8, (0, 2)), segment(24, 8, (0, 0), 1)]
    found = placements_of(saver(("grad_buffer", False)), snapshot=snapshot, environment=INIT)

    assert found is not None
    assert found.bytes_by_tag() == {"grad_buffer": (16, 12), "default": (8, 1)}


def test_segments_are_found_in_whatever_order_torch_lists_them() -> None:
    snapshot = [segment(300, 50, (0, 2)), segment(100, 50, (0, 1)), segment(200, 50, (0, 9))]
    found = placements_of(saver(("grad_buffer", False), ("x", True)), snapshot=snapshot, environment={})

    assert found is not None
    assert [found.at(at, 50) for at in (100, 200, 300)] == [UNBACKED, None, Placement("x", Backup.HOST)]


def test_a_pause_frees_what_torch_holds_and_copies_what_has_a_backup_on_the_host() -> None:
    keys = [("host", True), ("disk", False, True), ("grad_buffer", False)]
    snapshot = [segment(100 * at, 2**at, (0, at), used=1) for at in (1, 2, 3, 4)]
    found = placements_of(saver(*keys), snapshot=snapshot, environment={})

    assert found is not None
    assert found.tracked_bytes() == (2 + 4 + 8, 2)


def test_what_an_older_torch_does_not_say_of_a_segment_counts_as_nothing() -> None:
    plain = {"address": 0, "total_size": 8, "segment_pool_id": (0, 1)}
    found = placements_of(saver(("grad_buffer", False)), snapshot=[plain], environment={})

    assert found is not None
    assert found.bytes_by_tag() == {"grad_buffer": (8, 0)}


def test_a_pool_without_a_number_is_none_of_torch() -> None:
    strange = saver(("grad_buffer", False))
    strange._impl._mem_pools["weights", True] = object()
    found = placements_of(strange, snapshot=[segment(0, 8, (0, 1))], environment={})

    assert found is not None
    assert found.at(0, 8) == UNBACKED


@pytest.mark.parametrize(
    ("saver", "snapshot"),
    [
        # One pool for all tags (0.0.9); a torch that does not number pools.
        (SimpleNamespace(_impl=SimpleNamespace(_primary_mem_pool=object())), []),
        (saver(("grad_buffer", False)), [{"address": 0, "total_size": 1}]),
        (saver(("grad_buffer", False)), [segment(1, 1, (0, 1)), {"address": 0, "total_size": 1}]),
    ],
)
def test_what_cannot_be_known_is_not_guessed(saver: Any, snapshot: list[dict[str, Any]]) -> None:
    assert placements_of(saver, snapshot=snapshot, environment=INIT) is None


def test_every_misplaced_buffer_is_named() -> None:
    snapshot = [segment(0, 8, (0, 1)), segment(8, 8, (0, 0)), segment(16, 8, (0, 9))]
    found = placements_of(saver(("grad_buffer", False)), snapshot=snapshot, environment=INIT)
    assert isinstance(found, Placements)
    buffers = [
        Buffer("right", tensor(0, 8), "grad_buffer", backup=False),
        Buffer("of another tag", tensor(0, 8), "param_buffer", backup=False),
        Buffer("without its backup", tensor(0, 8), "grad_buffer", backup=True),
        Buffer("backed up", tensor(8, 8), "grad_buffer", backup=False),
        Buffer("untracked", tensor(16, 8), "default", backup=True),
        Buffer("empty", tensor(400, 0), "default", backup=True),
    ]
    verification = verify_buffers(buffers, None, placements=found)

    assert (verification.known, verification.checked) == (True, 5)
    assert verification.misplaced == (
        Misplaced("of another tag", Placement("param_buffer", Backup.NONE), UNBACKED, 8),
        Misplaced("without its backup", Placement("grad_buffer", Backup.HOST), UNBACKED, 8),
        Misplaced("backed up", UNBACKED, Placement("default", Backup.HOST), 8),
        Misplaced("untracked", Placement("default", Backup.HOST), None, 8),
    )
    with pytest.raises(PlacementError) as caught:
        verification.require()
    assert caught.value.buffers == ("of another tag", "without its backup", "backed up", "untracked")


def test_buffers_of_megatron_are_found_with_main_gradients_outside_them() -> None:
    parameters, gradients, extra, shared = object(), object(), object(), object()
    dense = SimpleNamespace(param_data=parameters, grad_data=gradients, extra_main_grads=[extra])
    mxfp8 = SimpleNamespace(param_data=shared, grad_data=shared, shared_buffer=shared)
    bare = SimpleNamespace(param_data=None, grad_data=gradients)
    chunks = [SimpleNamespace(buffers=[dense, bare], expert_parallel_buffers=[mxfp8])]

    assert ddp_buffers(chunks) == (
        Buffer("chunk 0: buffers[0].param_data", parameters, "param_buffer", backup=False),
        Buffer("chunk 0: buffers[0].grad_data", gradients, "grad_buffer", backup=False),
        Buffer("chunk 0: buffers[0].extra_main_grads[0]", extra, "grad_buffer", backup=False),
        Buffer("chunk 0: buffers[1].grad_data", gradients, "grad_buffer", backup=False),
        Buffer("chunk 0: expert_parallel_buffers[0].param_data", shared, "grad_buffer", backup=False),
        Buffer("chunk 0: expert_parallel_buffers[0].grad_data", shared, "grad_buffer", backup=False),
    )
    assert ddp_buffers([SimpleNamespace(buffers=[dense])], grad_backup=True, param_backup=True)[:2] == (
        Buffer("chunk 0: buffers[0].param_data", parameters, "default", backup=True),
        Buffer("chunk 0: buffers[0].grad_data", gradients, "default", backup=True),
    )
    # The gradients' flag alone, and the other one alone.
    for grads, params in ((False, True), (True, False)):
        found = ddp_buffers([SimpleNamespace(buffers=[dense])], grad_backup=grads, param_backup=params)
        assert [(each.tag, each.backup) for each in found] == [
            ("default", True) if params else ("param_buffer", False),
            ("default", True) if grads else ("grad_buffer", False),
            ("default", True) if grads else ("grad_buffer", False),
        ]


def test_a_backup_on_disk_is_one() -> None:
    found = placements_of(saver(("default", False, True)), snapshot=[segment(0, 8, (0, 1))], environment={})
    right = Buffer("on disk", tensor(0, 8), "default", backup=True)
    wrong = Buffer("without", tensor(0, 8), "default", backup=False)

    assert [each.name for each in verify_buffers([right, wrong], None, placements=found).misplaced] == ["without"]


def test_where_nothing_can_be_known_nothing_is_required_in_vain() -> None:
    verification = verify_buffers([], SimpleNamespace())

    assert (verification.known, verification.checked, verification.misplaced) == (False, 0, ())
    with pytest.raises(PlacementError, match="cannot tell where buffers lie: it has one memory pool for all tags"):
        verification.require()


def test_the_state_of_optimizers_is_found_inside_of_others_each_tensor_once() -> None:
    def state(name: str, *, on_device: bool = True) -> Any:
        return SimpleNamespace(data_ptr=name, is_cuda=on_device)

    first, second, shared = object(), object(), state("shared")
    moments = {"exp_avg": state("avg"), "step": state("step", on_device=False), "count": 3, "exp_avg_sq": shared}
    adam = SimpleNamespace(param_groups=[{"params": [first]}, {"params": [second]}], state={first: moments})
    other = SimpleNamespace(param_groups=[{"params": [second]}], state={second: {"exp_avg": shared}})
    bare = SimpleNamespace()
    nested = SimpleNamespace(
        chained_optimizers=[SimpleNamespace(optimizer=adam), SimpleNamespace(chained_optimizers=[other, bare])]
    )

    without = SimpleNamespace(optimizer=None, param_groups=other.param_groups, state=other.state)
    twice = SimpleNamespace(optimizer=SimpleNamespace(optimizer=other))
    assert [len(optimizer_buffers(each)) for each in (without, twice)] == [1, 1]
    assert optimizer_buffers(nested) == (
        Buffer("optimizer 0: group 0, parameter 0: exp_avg", moments["exp_avg"], "default", backup=True),
        Buffer("optimizer 0: group 0, parameter 0: exp_avg_sq", shared, "default", backup=True),
    )
    assert optimizer_buffers(other, tag="optimizer", backup=False) == (
        Buffer("optimizer 0: group 0, parameter 0: exp_avg", shared, "optimizer", backup=False),
    )
