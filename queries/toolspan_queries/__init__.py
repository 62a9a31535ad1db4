"""
One SQL file per number.
"""
