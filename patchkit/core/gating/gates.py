"""Gates: what is wrong with a planned result that applies cleanly.

Four texts of one Python file are compared: the base and the changed text of a patch, the target, and the result of
carrying the patch to the target. An alarm names something that is wrong in the result and was wrong neither in the
target nor in the changed text: what upstream or the patch's author lives with already is nobody's merge error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.gating.calls import Misfit, called_names, misfits
from patchkit.core.gating.decorators import misdecorated
from patchkit.core.gating.duplicates import Place, Twice, count_option, doubled, options
from patchkit.core.gating.flow import STRAY, Unassigned, unassigned
from patchkit.core.gating.focus import Blocks, Focus, Touched, blocks, focus, new_classes, new_heads, only, without
from patchkit.core.gating.joint import joint_alarms
from patchkit.core.gating.kinship import strangers
from patchkit.core.gating.loose import bindable_words, loose_names, module_names
from patchkit.core.gating.moved_heads import heads_moved
from patchkit.core.gating.names import Finding, findings
from patchkit.core.gating.parsing import Version, parse, parses, syntax_error
from patchkit.core.gating.passing import calls, misled
from patchkit.core.gating.references import has_word, removed_attributes, stale_attributes
from patchkit.core.gating.repeats import repeats
from patchkit.core.gating.tree_facts import TreeFacts
from patchkit.core.gating.verbatim import Verbatim
from patchkit.core.scopes import MODULE

__all__ = ["Alarm", "Rule", "alarms"]

_DEFINITIONS: Final = ((b"def ", b"("), (b"class ", b"("), (b"class ", b":"))


def alarms(
    base: bytes, changed: bytes, target: bytes, result: bytes, *, python: Version | None = None
) -> tuple[Alarm, ...]:
    """Return what is wrong with ``result``, in order of lines.

    ``base`` and ``changed`` are the file before and after the patch on the patch's own base, ``target`` and ``result``
    before and after it on the target. ``python`` is the oldest Python that the release promises to run on. Carried to
    its own base (``target`` is ``base`` and ``result`` is ``changed``) a patch never raises an alarm, since what the
    author had is what the author gets. No exception leaves, whatever the bytes are.
    """
    if target == base and result == changed:
        return ()
    gates = _Gates(base, changed, target, result, python)
    try:
        # That the target is left alone may be wrong as well: the patch took a decorator out.
        found = list(gates.misdecorated() if result == target else gates.alarms())
    except RecursionError:
        found = [_unchecked("the file nests too deep to be checked")]
    except _UnreadableError as error:
        found = [_unchecked(str(error))]
    stranger = strangers(base, target, result) if result != target else None
    if stranger is not None:
        found.append(stranger)
    first: dict[tuple[int, str, str], Alarm] = {}
    for alarm in found:  # two rules may see the same thing, and those about syntax call it by different names
        name = "" if alarm.rule is Rule.SYNTAX else alarm.name
        first.setdefault((alarm.line, alarm.rule.value, name), alarm)
    return tuple(first[key] for key in sorted(first))


def _unchecked(message: str) -> Alarm:
    return Alarm(Rule.UNCHECKED, 1, "", message)


class _UnreadableError(Exception):
    """A text that a rule has to be compared with is no Python."""

    def __init__(self) -> None:
        super().__init__("one of the texts to compare with cannot be read by this Python")


class _Gates:
    def __init__(self, base: bytes, changed: bytes, target: bytes, result: bytes, python: Version | None) -> None:
        self._base = base
        self._changed = changed
        self._target = target
        self._result = result
        self._python = python

    def alarms(self) -> Iterator[Alarm]:
        verbatim = self._verbatim
        # What the focus leaves out stands in the target as it is, so that a target that is Python makes a result of it.
        if not (verbatim.readable or self._readable(self._focus_result.content) or self._readable(self._result)):
            yield self._unreadable()
            return
        if not verbatim.names:
            yield from self._names()
        if not verbatim.flow:
            yield from self._flow()
        if not verbatim.doubled:
            yield from self._doubled()
        if not verbatim.options:
            yield from self._options()
        yield from self.misdecorated()
        yield from joint_alarms(self._base, self._changed, self._target, self._result)
        yield from self._repeated()
        yield from self._attributes()
        if not verbatim.calls:
            yield from self._calls()
        yield from self._misled()

    @cached_property
    def _verbatim(self) -> Verbatim:
        return Verbatim(self._changed, self._target, self._result, self._python)

    def _readable(self, content: bytes) -> bool:
        """Tell whether our Python and that of the release can read ``content``."""
        return parses(content) and (self._python is None or parse(content, self._python) is not None)

    # the texts, cut down to what a rule needs

    @cached_property
    def _target_blocks(self) -> Blocks:
        return blocks(self._target)

    @cached_property
    def _result_blocks(self) -> Blocks:
        return blocks(self._result)

    @cached_property
    def _focus_result(self) -> Focus:
        return focus(self._result, self._target_blocks)

    @cached_property
    def _focus_target(self) -> Focus:
        return focus(self._target, self._result_blocks)

    @cached_property
    def _touched(self) -> Touched:
        return Touched(self._focus_result.content, self._focus_target.content)

    @cached_property
    def _result_text(self) -> TreeFacts:
        """What the patch touched in the result, or all of it."""
        return TreeFacts(parse(self._focus_result.content, self._python) or _tree(self._result))

    def _known(self, scopes: Iterable[str]) -> list[TreeFacts]:
        """Return target and changed text, cut down to the definitions at module level that hold ``scopes``."""
        names = frozenset(scope.split(".")[0].encode() for scope in scopes)
        return [TreeFacts(parse(only(text, names)) or _tree(text)) for text in (self._target, self._changed)]

    # rules

    def _unreadable(self) -> Alarm:
        if not (self._readable(self._focus_target.content) or self._readable(self._target)):
            return _unchecked("neither the target nor the result can be read by this Python")
        if not self._readable(self._changed):
            return _unchecked("neither the patched base nor the result can be read by this Python")
        line, message = syntax_error(self._result, self._python)
        return Alarm(Rule.SYNTAX, line, message, f"the result is no Python: {message}")

    def _names(self) -> Iterator[Alarm]:
        found: list[Finding] = []
        if self._verbatim.frame_moved or loose_names(self._result_text.tree):
            found.extend(findings(self._result_text.tree))
        lost = self._lost_names()
        if lost:
            found.extend(f for f in findings(_tree(self._result)) if f.name in lost and f not in found)
        if not found:
            return
        known = self._known(finding.scope for finding in found)
        for finding in found:
            if any((finding.scope, finding.name) in text.names for text in known):
                continue
            if finding.bound_nowhere:
                yield Alarm(Rule.UNBOUND, finding.line, finding.name, f"{finding.name} is not bound in {finding.scope}")
            else:
                yield Alarm(Rule.SYNTAX, finding.line, finding.name, f"a statement may not stand here: {finding.name}")

    def _lost_names(self) -> frozenset[str]:
        """Names that stood outside functions, stand there no more, and are read although nothing binds them."""
        lost = frozenset(self._focus_target.frame) - frozenset(self._focus_result.frame)
        words = {word for line in lost for word in bindable_words(line)}
        if not words:
            return frozenset()
        names = {word.decode("utf-8", "replace") for word in words if has_word(self._focus_result.cut, word)}
        names -= module_names(self._result_text.tree)
        if names:
            names &= module_names(parse(self._focus_target.content) or _tree(self._target))
        return loose_names(_tree(self._result)) & names if names else frozenset()

    def _flow(self) -> Iterator[Alarm]:
        new = unassigned(self._result_text.tree)
        if not new:
            return
        known = self._known(read.scope for read in new)
        for read in new:
            if not all(_worse(read, text.reads.get((read.scope, read.name))) for text in known):
                continue
            if read.name in STRAY:
                message = f"{read.name} stands in {read.scope} outside a loop"
                yield Alarm(Rule.SYNTAX, read.line, read.name, message)
            elif read.certain:
                message = f"{read.name} is read in {read.scope} before anything can have assigned it"
                yield Alarm(Rule.UNBOUND, read.line, read.name, message)
            else:
                message = f"{read.name} is read in {read.scope}, and not every path there assigns it"
                yield Alarm(Rule.POSSIBLY_UNBOUND, read.line, read.name, message)

    def _doubled(self) -> Iterator[Alarm]:
        new = doubled(self._result_text.tree, self._touched)
        if not new:
            return
        known = self._known(place.scope for place in new)
        for place, twice in new.items():
            if all(twice.count > _count(text.doubled, place) for text in known):
                where = "" if place.scope == MODULE else f" in {place.scope}"
                message = f"{place.kind} {place.name} stands {twice.count} times{where}"
                yield Alarm(Rule.DUPLICATE, twice.line, place.name, message, harmless=twice.harmless)

    def _options(self) -> Iterator[Alarm]:
        if b"add_argument" not in self._focus_result.content:
            return
        for name, line in options(self._result_text.tree, self._touched).items():
            count = count_option(self._result, name)
            if count > 1 and count > max(count_option(text, name) for text in (self._target, self._changed)):
                yield Alarm(Rule.DUPLICATE, line, name, f"option {name} stands {count} times")

    def misdecorated(self) -> Iterator[Alarm]:
        for wrong in misdecorated(self._base, self._changed, self._target, self._result):
            message = f"{wrong.name} has not the decorators that the two sides make together"
            yield Alarm(Rule.MISPLACED, wrong.line, wrong.name, message)

    def _repeated(self) -> Iterator[Alarm]:
        for repeat in repeats(self._base, self._changed, self._target, self._result):
            rule, whose = (
                (Rule.UPSTREAMED, " that the target has already") if repeat.upstreamed else (Rule.DUPLICATE, "")
            )
            what, stand = ("a statement", "stands")
            if repeat.statements > 1:
                what, stand = f"{repeat.statements} statements", "stand"
            message = f"{what}{whose} {stand} twice in {repeat.scope}"
            yield Alarm(rule, repeat.line, repeat.scope, message)

    def _attributes(self) -> Iterator[Alarm]:
        texts = self._base, self._changed, self._target, self._result
        for stale in stale_attributes(*texts, lambda: self._result_text.tree):
            yield Alarm(Rule.STALE_REFERENCE, stale.line, stale.name, stale.message)
        for used in removed_attributes(self._changed, self._target, self._result, _tree):
            yield Alarm(Rule.REMOVED_STILL_USED, used.line, used.name, used.message)

    def _calls(self) -> Iterator[Alarm]:
        new = self._new_misfits()
        if not new:
            return
        known = {misfit.key for text in (self._changed, self._target) for misfit in misfits(_tree(text))}
        for misfit in new:
            if misfit.key in known:
                continue
            lines = self._result.split(b"\n")[misfit.line - 1 : misfit.end]
            kept = b"\n".join(lines) in self._target
            rule = Rule.REMOVED_STILL_USED if kept else Rule.STALE_REFERENCE
            yield Alarm(rule, misfit.line, misfit.callee, f"the call of {misfit.callee} {misfit.problem}")

    def _new_misfits(self) -> tuple[Misfit, ...]:
        """Return calls that do not fit: those in what changed, and those of functions whose head changed."""
        heads = new_heads(self._result_blocks, self._target_blocks)
        if b"__init__" in heads:
            heads |= new_classes(self._result_blocks, self._target_blocks)
        called = {name.encode() for name in called_names(self._result_text.tree, self._touched)}
        shown = frozenset(name for name in called | heads if _defines(self._result, name))
        if not shown:
            return ()
        # Whoever calls a function with a new head has to be seen, however little changed there.
        rest = without(self._target_blocks, [name + b"(" for name in heads])
        tree = parse(focus(self._result, rest, keep=shown).content) or _tree(self._result)
        return misfits(tree, None if heads else self._touched)

    def _misled(self) -> Iterator[Alarm]:
        """Yield calls that reach another parameter than the one they were written for."""
        names = heads_moved(self._base, self._changed, self._target)
        if not names:
            return
        changed, target, result = (calls(text, names) for text in (self._changed, self._target, self._result))
        if changed is None or target is None or result is None:
            raise _UnreadableError
        for call, problem, is_patchs in misled(changed, target, result):
            rule = Rule.STALE_REFERENCE if is_patchs else Rule.REMOVED_STILL_USED
            yield Alarm(rule, call.line, call.callee, f"the call of {call.callee.lstrip('.')} {problem}")


def _defines(content: bytes, name: bytes) -> bool:
    return any(keyword + name + end in content for keyword, end in _DEFINITIONS)


def _count(doubled: dict[Place, Twice], place: Place) -> int:
    return doubled[place].count if place in doubled else 1


def _worse(read: Unassigned, known: Unassigned | None) -> bool:
    return known is None or (read.certain and not known.certain)


def _tree(content: bytes) -> ast.Module:
    tree = parse(content)
    if tree is None:
        raise _UnreadableError
    return tree
