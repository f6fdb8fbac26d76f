"""The keys of the attributes that this project puts on functions, in one place."""

#: On a PrimFunc (K0): it copies its whole input, in order, to its whole output.
RESHAPE_ONLY = "reshape_only"

#: On a PrimFunc (K0+): outputs that are ranges of inputs, as a dict of the output's position among
#: the parameters, as a word, to the input's position and the byte there with which it begins.
VIEW_OF = "ta.view_of"

#: On a PrimFunc (K0+): which outputs may lie over which inputs, byte for byte, as a dict of the
#: output's position, as a word, to a list of those of the inputs.
MAY_OVERWRITE = "ta.may_overwrite"

#: On a Relax function: which of its outputs the source program itself makes share storage. Empty
#: where none does; without it the front has not seen the function.
SOURCE_ALIAS = "ta.source_alias"

#: On a Relax function: the names of the parameters whose storage it may overwrite.
DONATED = "ta.donated"

#: On a Relax function: TVM has merged names of one value since it was said what aliases, so that
#: a tensor that was updated in place may bear the name that it had before.
NAMES_MERGED = "ta.names_merged"

#: On a Relax function: what the results of the packed functions that it calls may share storage
#: with, by name: `fresh` (nothing), `arg<i>` (argument i, counted from 0) or `may` (anything).
EXTERN_ALIAS = "ta.extern_alias"

#: On a Relax function, TVM's own: the largest value of each symbolic size in its signature.
UPPER_BOUNDS = "tir_var_upper_bound"
