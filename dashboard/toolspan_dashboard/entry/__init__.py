"""
What Streamlit runs, in a folder of its own: it takes a folder `pages` beside its script for pages in its own way, and
shows these to whoever is first to open a link to one of ours.
"""
