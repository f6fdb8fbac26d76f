"""What TVM 0.27 gets wrong in `cases/`, with which approaches, and why.

`FAULTS` lists for each reason how such a case `ends`, under which `planner`, and by case the
approaches. What is not listed comes out right. All of them use TVM's own planner or its kernels as
they are: under `token` and `arena` nothing is listed.
"""

#: What TVM does, alone or with its in-place pass; user-written views and constants are its matter.
_TVM = ("shipped", "stock", "stock+inplace")
#: Who lets TVM's planner plan what TVM would run too.
_PLANNED = (*_TVM, "copy")
#: The same where no kernel is left out that is in the way.
_ELIDED = (*_PLANNED, "k0", "alias:reshape")
#: The same where nothing is written over what the planner has lost sight of.
_ALL = (*_ELIDED, "alias")


def _each(cases, approaches):
    return dict.fromkeys(cases.split(), approaches)


FAULTS = [
    {
        "reason": "apache/tvm#20191: StaticPlanBlockMemory keeps one pool of free storages for both"
        " branches of an If, and what only one of them allocates is used on the other path",
        "ends": "died",
        "planner": "tvm",
        "cases": _each(
            "branch_reshape_second chains_differ_first chains_differ_second nested_first"
            " nested_second nested_third one_after_another read_in_and_after_first"
            " two_views_of_one_value",
            _PLANNED,
        )
        | _each(
            "extern_in_a_branch_first extern_in_a_branch_second read_in_and_after_second"
            " read_in_one_branch_second",
            _ELIDED,
        ),
    },
    {
        "reason": "class of apache/tvm#17145: StaticPlanBlockMemory takes the result of a packed"
        " function for fresh, and gives the storage of the argument that it is to another value",
        "ends": "wrong",
        "planner": "tvm",
        "cases": _each(
            "cast_of_an_extern_result extern_declared_arg0 extern_declared_may extern_identity"
            " extern_of_a_reshape extern_of_a_slice extern_returns_a_view extern_same"
            " extern_second",
            _ELIDED,
        )
        | _each(
            "extern_lives_long extern_returns_a_tail extern_returns_a_tuple extern_twice", _ALL
        ),
    },
    {
        "reason": "the pool of free storages of StaticPlanBlockMemory has memory scope and dtype"
        " for a key and not the device: a value gets a storage of another device",
        "ends": "raised",
        "planner": "tvm",
        "cases": _each("storage_of_two_devices", _ELIDED),
    },
    {
        "reason": "class of apache/tvm#6435: a constant, or what FoldConstant makes of a reshape of"
        " one, is returned as the virtual machine's own tensor, and the caller may write to it",
        "ends": "wrong",
        "planner": "tvm",
        "cases": _each(
            "constant_as_it_is constant_from_a_branch_first constant_in_a_tuple"
            " constant_is_never_shared constant_reshaped constant_sliced constant_view",
            _TVM,
        ),
    },
    {
        "reason": "apache/tvm#16955: a view at a byte offset reaches a kernel that demands that its"
        " arguments begin at byte 0 of their storages",
        "ends": "raised",
        "planner": "tvm",
        "cases": _each(
            "view_as_bytes view_at_an_offset view_at_four_bytes view_in_a_concat"
            " view_of_a_parameter_is_read view_of_a_reshape view_of_a_slice_of_a_view"
            " view_of_a_value view_of_a_view",
            _TVM,
        ),
    },
    {
        "reason": "apache/tvm#16955: a packed function is handed a view at a byte offset, and reads"
        " from the first byte as many do",
        "ends": "wrong",
        "planner": "tvm",
        "cases": _each("extern_reads_from_the_first_byte", _TVM),
    },
    {
        "reason": "DataflowUseInplaceCalls counts arguments before legalisation, which puts a"
        " scalar constant into the kernel: argument 1 is then argument 0",
        "ends": "raised",
        "planner": "tvm",
        "cases": _each("in_place_of_a_constant", ("stock+inplace",)),
    },
]
