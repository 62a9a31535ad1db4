"""
`@tool`: one call of a tool, its attempts, its span, and what of it is an envelope.
"""
