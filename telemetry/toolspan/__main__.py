"""
`python -m toolspan` is the command line.
"""

from toolspan.cli import main

main()
