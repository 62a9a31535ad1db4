"""
The pages of the dashboard, one file per question; each has `show`, which lays it out.
"""
