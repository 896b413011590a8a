"""Reports what this machine can give to boxes and what it cannot, for ``peck doctor``.

``probes`` reads files, tries things and removes what it made. ``checks`` judges the results and
names what each lack costs.
"""
