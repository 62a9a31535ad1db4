"""
Where rows are kept: one protocol, one module per engine.
"""
