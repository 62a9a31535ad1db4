"""
Choosing a name: from those that the store has, by a widget that is bound to the URL.
"""

from collections.abc import Sequence

import streamlit as st


def choose(label: str, values: Sequence[str], *, key: str, placeholder: str) -> str | None:
    """
    The value that the widget *key* has; None where it has none.

    A value of the URL that the store does not have is an option, too: Streamlit would drop the parameter, and the page
    show everything as if nobody had asked. That new ones can be typed is no remedy: then Enter takes what was typed,
    and not the name that it begins.
    """
    asked = st.query_params.get(key)
    options: list[str] = [*values, *([asked] if asked and asked not in values else [])]
    return st.selectbox(label, options, index=None, key=key, bind="query-params", placeholder=placeholder)
