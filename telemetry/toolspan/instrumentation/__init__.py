"""
toolspan on a tracer provider: tool spans tagged on their way, and kept, sent and counted beside the agent.
"""
