"""
Ten points against a tool: what its answers say, what it does before it answers, and both under every injected fault.
"""

from toolspan.audit.auditing import audit
from toolspan.audit.points import POINTS, Finding, Point, Reason, Verdict
from toolspan.audit.subjects import Kind, Subject, find_subjects, load

__all__ = ["POINTS", "Finding", "Kind", "Point", "Reason", "Subject", "Verdict", "audit", "find_subjects", "load"]
