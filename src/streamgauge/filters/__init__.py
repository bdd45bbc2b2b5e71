"""Filters at the sources: bounds around objects, and who may be how wide.

`bound.py` and `source.py` run beside a source and need nothing but the standard library; the rest
runs beside the coordinator and works on columns.
"""
