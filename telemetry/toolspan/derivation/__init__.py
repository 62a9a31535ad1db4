"""
The steps from the facts of a group to its rows; `toolspan.derive` takes them in order.
"""
