"""
`python -m toolspan` is the command line.
"""

from toolspan.cli import main

if __name__ == "__main__":  # a process that decodes imports this as well
    main()
