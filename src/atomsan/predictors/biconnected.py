"""Biconnected components of a graph: any two vertices of one, if it has more than two, lie on a simple cycle."""

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
