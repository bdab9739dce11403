"""One HTML file that shows runs and needs nothing else: no network, no server.

`view` says what stands on the page, `charts` and `drawn` what is drawn, `page/` how it looks and
moves (a Jinja template, a style sheet, a script), `write` puts it together with the charting
library inside.
"""
