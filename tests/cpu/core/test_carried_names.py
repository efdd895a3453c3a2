"""A rename of the target is carried to what is the same thing in the patch, and to nothing else."""

from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carried import CarryResult, Status

# Parts of megatron/core/optimizer/clip_grads.py of core_v0.19.0.
CLIP = b'''\
def clip_grad_by_total_norm_fp32(
    parameters: Union[List[torch.Tensor], torch.Tensor],
    max_norm: Union[int, float],
    total_norm: float,
    use_decoupled_grad: bool = False,
):
    """Clips the gradients of an iterable of parameters in FP32 by total norm.

    Args:
        max_norm (Union[int, float]): The maximum permissible total norm
            of the gradients.
    """
    # Grads.
    params = []
    grads = []
    for param in parameters:
        params.append(param)
        grads.append(to_local_if_dtensor(param.grad).detach())

    # Scale.
    clip_coeff = max_norm / (total_norm + 1.0e-6)
    dummy_overflow_buf = torch.zeros(1, dtype=torch.int, device='cuda')
    if clip_coeff < 1.0:
        multi_tensor_applier(
            multi_tensor_scale_impl, dummy_overflow_buf, [grads, grads], clip_coeff
        )


def count_zeros_fp32(parameters: Union[List[torch.Tensor], torch.Tensor]) -> float:
    """Counts the number of zeros in gradients associated with the passed-in list of parameters."""
    total_num_zeros = torch.zeros(1, dtype=torch.float, device='cuda')
    for param in parameters:
        grad = to_local_if_dtensor(param.grad).detach()
        total_num_zeros = grad.numel() - torch.count_nonzero(grad) + total_num_zeros
    return total_num_zeros
'''
CLIPPED = CLIP.replace(b"max_norm", b"max_grad_norm")
FOR_EVAL = b'''

def clip_for_eval(parameters, max_norm: float = 1.0):
    """Clip outside of the training step."""
    return torch.nn.utils.clip_grad_norm_(parameters, max_norm=max_norm)
'''

REST = b"".join(b"def rest_%d(x):\n    return x + %d\n\n\n" % (number, number) for number in range(5))
BUILD = b"def build(cfg):\n    log(cfg)\n    use(cfg)\n    finish()\n\n\ndef tail(y):\n    first()\n    last()\n" + REST
LOADED = b"cfg = load()\nlog(cfg)\n\n\ndef build(y):\n    use(cfg)\n    finish()\n\n\ndef tail(y):\n    last()\n" + REST
HELD = (
    b"class A:\n    def __init__(self, cfg):\n        self.cfg = cfg\n        log(self.cfg)\n\n"
    b"    def run(self, y):\n        finish()\n\n\ndef tail(y):\n    last()\n" + REST
)


READ = b"def build(args):\n    use(args.cfg)\n    log(args.cfg)\n    finish()\n\n\ndef tail(y):\n    last()\n" + REST


def named(text: bytes) -> bytes:
    return text.replace(b"cfg", b"config")


def put_in(base: bytes, where: bytes, added: bytes) -> bytes:
    """Put lines before the one that ends with ``where``, indented as that; at the end of the file for none."""
    if not where:
        return base + added
    head, tail = base.split(where, 1)
    indent = head[head.rindex(b"\n") + 1 :]
    return head + added.replace(b"\n", b"\n" + indent) + where + tail


def both_ways(base: bytes, one: bytes, other: bytes) -> tuple[CarryResult, CarryResult]:
    return carry_file(base, one, other, "x.py"), carry_file(base, other, one, "x.py")


def test_a_new_functions_parameter_and_the_keyword_of_a_foreign_call_keep_their_name() -> None:
    for result in both_ways(CLIP, CLIP + FOR_EVAL, CLIPPED):
        assert (result.status, result.content) == (Status.CLEAN, CLIPPED + FOR_EVAL)


@pytest.mark.parametrize(
    ("base", "where", "added"),
    [
        (BUILD, b"", b"def make(cfg=None):\n    return cfg\n"),
        (BUILD, b"", b"def make(cfg=None):\n    return cfg, f'{cfg}'\n"),
        (BUILD, b"", b"@dataclass\nclass Opt:\n    cfg: str = ''\n\n\nOPT = Opt(cfg=1)\n"),
        (BUILD, b"last()", b"cfg = load()\nwork(cfg)\n"),
        (BUILD, b"last()", b"Trainer(y, cfg=1)\n"),
        (BUILD, b"last()", b"work(dict(cfg=1))\n"),
        (BUILD, b"last()", b"from m import cfg\nwork(cfg)\n"),
        (BUILD, b"last()", b"try:\n    work()\nexcept Error as cfg:\n    raise New() from cfg\n"),
        (BUILD, b"last()", b"work([cfg for cfg in y])\n"),
        (BUILD, b"last()", b"work(lambda cfg: cfg)\n"),
        (BUILD, b"last()", b"with opened(y) as cfg:\n    work(cfg.x)\n"),
        (LOADED, b"", b"def make(cfg):\n    return cfg\n"),
        (LOADED, b"", b"def make():\n    cfg = 2\n    return cfg\n"),
        (HELD, b"", b"class B:\n    def __init__(self, cfg):\n        self.cfg = made(cfg)\n"),
    ],
    ids=[
        "parameter",
        "parameter in a string",
        "field",
        "local",
        "keyword",
        "key",
        "import",
        "handler",
        "comprehension",
        "lambda",
        "with",
        "parameter for global",
        "local for global",
        "attribute of a new class",
    ],
)
def test_what_is_something_else_keeps_its_name_on_either_side(base: bytes, where: bytes, added: bytes) -> None:
    expected = put_in(named(base), where, added)

    for result in both_ways(base, put_in(base, where, added), named(base)):
        assert (result.status, result.content) == (Status.CLEAN, expected)


@pytest.mark.parametrize(
    ("base", "where", "added", "expected"),
    [
        (BUILD, b"finish()", b"Trainer(y, cfg=cfg)\n", b"Trainer(y, cfg=config)\n"),
        (BUILD, b"finish()", b"work(dict(cfg=1, k=cfg))\n", b"work(dict(cfg=1, k=config))\n"),
        (BUILD, b"last()", b"build(cfg=y)\n", b"build(config=y)\n"),
        (BUILD, b"finish()", b"def f(k):\n    return cfg + k\n", b"def f(k):\n    return config + k\n"),
        (BUILD, b"finish()", b"def f(cfg):\n    return cfg\nf(cfg)\n", b"def f(cfg):\n    return cfg\nf(config)\n"),
        (BUILD, b"finish()", b"def f(cfg):\n    k(cfg)\nf(cfg=cfg)\n", b"def f(cfg):\n    k(cfg)\nf(cfg=config)\n"),
        (
            BUILD,
            b"finish()",
            b"def f(cfg):\n    'With cfg.'\n    k(f'{cfg}')  # cfg\nf(cfg)\n",
            b"def f(cfg):\n    'With cfg.'\n    k(f'{cfg}')  # cfg\nf(config)\n",
        ),
        (BUILD, b"finish()", b"if more:\n    cfg = cfg.x\n", b"if more:\n    config = config.x\n"),
        (BUILD, b"finish()", b"work(lambda cfg=cfg: cfg)\n", b"work(lambda cfg=config: cfg)\n"),
        (BUILD, b"finish()", b"work([cfg for cfg in cfg])\n", b"work([cfg for cfg in config])\n"),
        (BUILD, b"finish()", b"work([cfg := x for x in y])\n", b"work([config := x for x in y])\n"),
        (LOADED, b"", b"def f():\n    global cfg\n    cfg = 2\n", b"def f():\n    global config\n    config = 2\n"),
        (LOADED, b"last()", b"work(cfg)\n", b"work(config)\n"),
        (HELD, b"finish()", b"work(self.cfg, cfg=self.cfg)\n", b"work(self.config, cfg=self.config)\n"),
        (HELD, b"last()", b"A(cfg=1)\n", b"A(config=1)\n"),
        (READ, b"finish()", b"work(args.cfg)\n", b"work(args.config)\n"),
    ],
    ids=[
        "keyword",
        "key",
        "its own call",
        "closure",
        "inner parameter",
        "inner call",
        "text of an inner function",
        "bound again",
        "default",
        "comprehension",
        "walrus",
        "global",
        "module",
        "attribute",
        "constructor",
        "attribute of a parameter",
    ],
)
def test_what_is_the_same_thing_takes_the_targets_name(
    base: bytes, where: bytes, added: bytes, expected: bytes
) -> None:
    result, exchanged = both_ways(base, put_in(base, where, added), named(base))

    assert (result.status, result.content) == (Status.CLEAN, put_in(named(base), where, expected))
    # What the target puts in stays as it is, and a person is asked.
    assert exchanged.status is Status.REVIEW


@pytest.mark.parametrize(
    ("base", "where", "added"),
    [
        (BUILD, b"last()", b"y.build(cfg=1)\n"),
        (BUILD, b"last()", b"partial(build, cfg=1)\n"),
        (BUILD, b"finish()", b"work(cfg, f'{cfg}')\n"),
        (BUILD, b"finish()", b"# as cfg says\nwork(cfg)\n"),
        (BUILD, b"finish()", b"from m import cfg\nwork(cfg)\n"),
        (LOADED, b"", b"def cfg():\n    return 1\n"),
        (LOADED, b"finish()", b"cfg = 2\nwork(cfg)\n"),
        (BUILD, b"", b"def run(build):\n    return build(cfg=1)\n"),
        (HELD, b"last()", b"work(y.cfg)\n"),
        (READ, b"", b"def run(args):\n    return args.cfg\n"),
        (READ, b"last()", b"work(y().cfg)\n"),
        (HELD, b"", b"class B(A):\n    pass\n\n\nB(cfg=1)\n"),
        (HELD, b"", b"class B(A):\n    def __init__(self):\n        super().__init__(cfg=1)\n"),
        (HELD, b"", b"class B(A):\n    def __init__(self, cfg):\n        self.cfg = made(cfg)\n"),
    ],
    ids=[
        "method",
        "handed on",
        "f-string",
        "comment",
        "imported again",
        "defined anew",
        "local for global",
        "call of a parameter",
        "attribute of another object",
        "of another function's parameter",
        "of what is returned",
        "subclass",
        "super",
        "attribute of a subclass",
    ],
)
def test_what_nobody_can_tell_is_for_review_on_either_side(base: bytes, where: bytes, added: bytes) -> None:
    for result in both_ways(base, put_in(base, where, added), named(base)):
        assert (result.status, result.content) == (Status.REVIEW, put_in(named(base), where, added))


def test_what_another_module_offers_is_not_renamed_by_who_uses_it() -> None:
    base = b"import torch\n\n\ndef wait(a):\n    a.wait(torch.old())\n    torch.old().wait(a)\n    last()\n\n\n" + REST
    target = base.replace(b"old", b"new")

    result = carry_file(base, put_in(base, b"last()", b"old = torch.old()\n"), target, "x.py")

    assert (result.status, result.content) == (Status.REVIEW, put_in(target, b"last()", b"old = torch.old()\n"))
    (alarm,) = result.hunks[0].alarms
    assert alarm.message == "old is new in the target, perhaps here too"


def test_a_function_that_the_patch_renames_is_the_same_function() -> None:
    changed = BUILD.replace(b"def build(cfg):", b"def construct(cfg, n):")

    result = carry_file(BUILD, changed, named(BUILD), "x.py")

    assert (result.status, result.content) == (Status.CLEAN, named(changed))


def test_a_new_function_above_one_that_is_much_like_it_keeps_its_names() -> None:
    like = b"def make(cfg, n):\n    log(cfg)\n    use(cfg)\n    work(cfg)\n\n\n"

    for result in both_ways(BUILD, like + BUILD, named(BUILD)):
        assert (result.status, result.content) == (Status.CLEAN, like + named(BUILD))


@pytest.mark.parametrize("added", [b"print 'x', cfg\n", b"work(cfg, '\xff')\n"], ids=["old Python", "no UTF-8"])
def test_where_the_source_cannot_be_read_nothing_is_clean(added: bytes) -> None:
    result = carry_file(BUILD, put_in(BUILD, b"finish()", added), named(BUILD), "x.py")

    assert result.status is not Status.CLEAN


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (b"work = Trainer(cfg=cfg)\n    use(work)\n", b"work = Trainer(cfg=config)\n    use(work)\n"),
        (
            b"def f(cfg):\n        return cfg\n    use(f(cfg))\n",
            b"def f(cfg):\n        return cfg\n    use(f(config))\n",
        ),
    ],
    ids=["keyword", "inner function"],
)
def test_in_statements_that_the_patch_rewrites_as_well(added: bytes, expected: bytes) -> None:
    result, exchanged = both_ways(BUILD, BUILD.replace(b"use(cfg)\n", added), named(BUILD))

    assert (result.status, result.content) == (Status.CLEAN, named(BUILD).replace(b"use(config)\n", expected))
    assert exchanged.status is not Status.CLEAN


LISTEN = (
    b"from requests import Request\n\n\ndef listen(futures, reply):\n    future = futures.pop(reply.id)\n"
    b"    future.set_result(Request.read(reply))\n\n\n" + REST + b"\ndef more(z):\n    log(z)\n    work(z, Request)\n"
)


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (b"Request.read(reply)", b"Record.read(reply)"),
        (b"Request.read(reply, Request=1)", None),
        (b"Trainer(Request=Request)", None),
        (b"map(lambda Request: Request, reply)", None),
        (b"later()\n\n    def later(Request):\n        return Request", None),
    ],
    ids=["the same thing", "keyword", "foreign keyword", "lambda", "inner function"],
)
def test_rewritten_statements_have_the_name_for_the_same_thing_or_conflict(done: bytes, expected: bytes | None) -> None:
    # One use went, so that the name is not proven to be renamed for the file as a whole.
    renaming = LISTEN.replace(b"    work(z, Request)\n", b"").replace(b"Request", b"Record")
    line, lines = b"    future.set_result(%s.read(reply))\n", b"    done = %s\n    call_soon(future.set_result, done)\n"
    rewriting = LISTEN.replace(line % b"Request", lines % done)

    for result in both_ways(LISTEN, rewriting, renaming):
        if expected is None:
            assert result.status is Status.CONFLICT
        else:
            text = renaming.replace(line % b"Record", lines % expected)
            assert (result.status, result.content) == (Status.CLEAN, text)
