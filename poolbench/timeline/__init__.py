"""A traced run as something to look at: lanes of spans over one axis.

`values` is what every picture draws (terminal, browser, Perfetto, paper), `build` makes it from the
steps of a results directory, `cells` lays it out in characters, `reduce` makes long ones shorter.
"""
