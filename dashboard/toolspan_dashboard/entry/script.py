"""
The script that Streamlit runs, again for everything that somebody does.
"""

from toolspan_dashboard.app import main

main()
