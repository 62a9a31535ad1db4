"""
What a tool answers: the typed envelope, its rules, its forms in other protocols, its codes, what a prompt says of it.
"""
