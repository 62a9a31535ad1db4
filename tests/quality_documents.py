"""
What documents of `quality` say that has a query of its own, as rows of that query.
"""

from collections.abc import Mapping

from toolspan.documents import Quality
from toolspan_queries.quality_rows import Cluster, CodesWithTwoClasses


def clusters(documents: Mapping[str, Quality]) -> list[Cluster]:
    """
    The clusters of *documents* as rows of their own query.
    """
    return sorted(
        Cluster(group, tool, cluster["class"], cluster["failures"], cluster["share"])
        for group, document in documents.items()
        for tool, part in document["tools"].items()
        for cluster in [part["cluster"]]
        if cluster is not None
    )


def codes_with_two_classes(documents: Mapping[str, Quality]) -> list[CodesWithTwoClasses]:
    """
    The codes with two classes of *documents* as rows of their own query.
    """
    return sorted(
        CodesWithTwoClasses(group, tool, code, error_class, failures)
        for group, document in documents.items()
        for tool, part in document["tools"].items()
        for code, classes in part["codes_with_two_classes"].items()
        for error_class, failures in classes.items()
    )
