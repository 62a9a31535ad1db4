"""
The agent's side: tasks, steps, escalations, the policy that calls obey, and the ids that spans carry.
"""
