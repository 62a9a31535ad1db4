"""
Real agent frameworks with scripted models.
"""
