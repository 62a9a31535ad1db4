"""
A travel agent that sends real spans of made-up trips: before its tools named what failed, and after.
"""
