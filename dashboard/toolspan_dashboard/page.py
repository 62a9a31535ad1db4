"""
A page as its file sees it: the store, the view, and links to other pages that keep the filters.

Links are anchors of our own. `st.page_link` would be faster by a second, but of a change of page Streamlit keeps the
parameters of bound widgets itself and adds those of the link to them (`range=7d&range=all`); and without them in the
link, it opens in another tab without the filters.
"""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from toolspan_dashboard.tables import anchor
from toolspan_dashboard.view import View


class Link(NamedTuple):
    """
    A link to the page *to*, this one where it is empty, with *more* than the filters of now.
    """

    to: str
    label: str
    more: Mapping[str, str]


def link(to: str, label: str, **more: str) -> Link:
    """
    A link; an empty value takes a filter away.
    """
    return Link(to, label, more)


class Page(NamedTuple):
    """
    The page *name* of the store *store*.
    """

    name: str
    store: str
    view: View

    def show_links(self, *links: Link) -> None:
        """
        The *links* beside one another.
        """
        anchors = "".join(anchor(each.label, each.to or self.name, self.view.link(**each.more)) for each in links)
        st.html(f'<nav class="ts-links">{anchors}</nav>')
