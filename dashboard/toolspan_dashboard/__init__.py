"""
The Streamlit dashboard.
"""
