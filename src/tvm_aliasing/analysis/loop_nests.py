"""The stores of a PrimFunc's body, each with the domain that its loops run through."""

from dataclasses import dataclass

from tvm import ir, sym, tirx
from tvm.s_tir import SBlock, SBlockRealize

from .expressions import divides_backwards, variables


@dataclass(frozen=True)
class Nest:
    """One store and the iteration domain that is proved to run around it exactly once each."""

    store: tirx.BufferStore
    domain: dict[ir.Var, ir.Range]


def nests(body):
    """Every store of a body with its domain, or None where the body holds anything else."""
    if isinstance(body, SBlockRealize) and not body.block.iter_vars:
        block = body.block
        always = sym.Analyzer().can_prove(body.predicate)
        if block.match_buffers or block.init is not None or not always:
            return None
        body = block.body
    found = []
    for statement in body.seq if isinstance(body, tirx.SeqStmt) else (body,):
        if _does_nothing(statement):
            continue
        nest = _nest(statement, {})
        if nest is None:
            return None
        found.append(nest)
    return found


def _does_nothing(statement):
    """Whether a nest is what `RemoveNoOp` leaves of a store of an element to where it is."""
    while isinstance(statement, tirx.For | SBlockRealize):
        if isinstance(statement, tirx.For):
            statement = statement.body
        elif statement.block.init is None:
            statement = statement.block.body
        else:
            return False
    return isinstance(statement, tirx.Evaluate) and isinstance(statement.value, tirx.IntImm)


def _nest(statement, loops):
    threads = set()
    while isinstance(statement, tirx.For):
        if statement.step is not None and not sym.Analyzer().can_prove_equal(statement.step, 1):
            return None
        if statement.thread_binding is not None:
            # Two loops bound to one thread index run as one.
            tag = statement.thread_binding.thread_tag
            if tag in threads:
                return None
            threads.add(tag)
        extent = ir.Range.from_min_extent(statement.min, statement.extent)
        if any(var in loops for part in (extent.min, extent.extent) for var in variables(part)):
            return None
        loops = {**loops, statement.loop_var: extent}
        statement = statement.body
    if isinstance(statement, tirx.BufferStore):
        return Nest(statement, loops)
    if isinstance(statement, SBlockRealize):
        block: SBlock = statement.block
        domain = {iterator.var: iterator.dom for iterator in block.iter_vars}
        if (
            isinstance(block.body, tirx.BufferStore)
            and block.init is None
            and not block.match_buffers
            and not block.alloc_buffers
            and _covers(statement, domain, loops)
        ):
            return Nest(block.body, domain)
    return None


def _covers(realize, domain, loops):
    """Whether the loops run a block once at each point of its domain."""
    if any(map(divides_backwards, realize.iter_values)):
        return False
    analyzer = sym.Analyzer()
    found = sym.detect_iter_map(
        list(realize.iter_values),
        loops,
        predicate=realize.predicate,
        check_level="bijective",
        simplify_trivial_iterators=False,
        analyzer=analyzer,
    ).indices
    if len(found) != len(domain):
        return False
    return all(_spans(index, wanted, analyzer) for index, wanted in zip(found, domain.values()))


def _spans(index, wanted, analyzer):
    """Whether a detected index runs through exactly the wanted range."""
    if not analyzer.can_prove_equal(index.base, wanted.min) or len(index.args) > 1:
        return False
    extent = 1
    for split in index.args:
        if not analyzer.can_prove_equal(split.scale, 1):
            return False
        extent = split.extent
    return analyzer.can_prove_equal(extent, wanted.extent)
