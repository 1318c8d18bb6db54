"""Components of graphs.

Any two vertices of a biconnected component, if it has more than two, lie on a simple cycle of a graph without
directions; any two of a strongly connected one lie on a closed walk of a graph with directions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


def biconnected_components(edges: Mapping[int, Collection[int]]) -> list[set[int]]:
    """The components with more than two vertices (Hopcroft and Tarjan, 1973), without recursion."""
    found: list[set[int]] = []
    entered: dict[int, int] = {}
    lowest: dict[int, int] = {}
    for root in edges:
        if root in entered:
            continue
        entered[root] = lowest[root] = len(entered)
        path = [(root, -1, iter(edges[root]))]
        stack: list[tuple[int, int]] = []
        while path:
            vertex, parent, following = path[-1]
            for to in following:
                if to == parent:
                    continue
                if to not in entered:
                    entered[to] = lowest[to] = len(entered)
                    stack.append((vertex, to))
                    path.append((to, vertex, iter(edges[to])))
                    break
                if entered[to] < entered[vertex]:
                    stack.append((vertex, to))
                    lowest[vertex] = min(lowest[vertex], entered[to])
            else:
                path.pop()
                if not path:
                    continue
                lowest[parent] = min(lowest[parent], lowest[vertex])
                if lowest[vertex] >= entered[parent]:
                    component: set[int] = set()
                    while True:
                        edge = stack.pop()
                        component.update(edge)
                        if edge == (parent, vertex):
                            break
                    if len(component) > 2:
                        found.append(component)
    return found


def strong_components(edges: Mapping[int, Collection[int]]) -> dict[int, int]:
    """By vertex: the number of its strongly connected component (Tarjan, 1972), without recursion."""
    entered: dict[int, int] = {}
    lowest: dict[int, int] = {}
    found: dict[int, int] = {}
    stack: list[int] = []
    for root in edges:
        if root in entered:
            continue
        entered[root] = lowest[root] = len(entered)
        stack.append(root)
        path = [(root, iter(edges[root]))]
        while path:
            vertex, following = path[-1]
            for to in following:
                if to not in entered:
                    entered[to] = lowest[to] = len(entered)
                    stack.append(to)
                    path.append((to, iter(edges[to])))
                    break
                if to not in found:
                    lowest[vertex] = min(lowest[vertex], entered[to])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[vertex])
                if lowest[vertex] == entered[vertex]:
                    while vertex not in found:
                        found[stack.pop()] = entered[vertex]
    return found
