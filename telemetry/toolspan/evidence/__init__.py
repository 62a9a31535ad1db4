"""
What a span carries of a failure, and which class that names: statuses, exceptions, texts, results.
"""

from toolspan.evidence.findings import Evidence, Finding, exception_of, findings, gather

__all__ = ["Evidence", "Finding", "exception_of", "findings", "gather"]
