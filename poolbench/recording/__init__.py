"""A running CUDA program to a scenario: `poolbench record`.

Two halves that share nothing but files.  Inside the program (`inject`, `inside`, `capture`,
`calls`, `raw`; the standard library and CUPTI, nothing else) calls and device work are taken down
as rows of numbers, without a decision about them.  Afterwards, in poolbench's own process, `decode`
makes steps of the rows (pure: everything about order, streams, pools and windows is there), and
`scenario` writes them as the importers do.  `launch` starts the program.
"""
