"""What a trace shows: the properties that its run violates, under each configuration that it is a run of.

A trace that a search writes has one configuration. A file of the project's traces has every one that gives the same
states. `#meta.config` and `#meta.properties` are those of the first, and `#meta.releases` lists the releases that
give the same as it. `#meta.also` lists the others: `set` has the values that differ, `releases` as above, and
`properties` those that are violated there, if they are others.
"""

from __future__ import annotations

from typing import Any

from reassure.spec.semantics.trace import WRONG, TraceError, configurations, properties_of

Meta = dict[str, Any]
"""The `#meta` of a trace."""


def of_each_configuration(meta: Meta) -> list[Meta]:
    """The `#meta` under each configuration that a trace is a run of, its own at the end, each with its newest last.

    `TraceError` for an `also` that is not as this module says.
    """
    own = {key: value for key, value in meta.items() if key not in ("also", "releases")}
    metas = []
    for other in [*_also(meta), {"releases": meta.get("releases", [])}]:
        config = {**meta.get("config", {}), **other.get("set", {})}
        about = {**own, "properties": other["properties"]} if "properties" in other else own
        if about.get("properties"):  # what is about one property is about the first
            name, kind = next(iter(properties_of(about).items()))
            about = {**about, "property": name, "property_kind": kind}
        releases = other.get("releases", [])
        metas += [{**about, "config": each} for each in configurations({"config": config, "releases": releases})]
    return metas


def every_property(meta: Meta) -> dict[str, str | None]:
    """The properties that a trace is about under any of its configurations, with their kinds; its own first."""
    metas = of_each_configuration(meta)[::-1]
    return {name: kind for about in metas for name, kind in properties_of(about).items()}


def _also(meta: Meta) -> list[Meta]:
    """The other configurations, the last one first: what is read at the end is nearest to the trace's own."""
    also = meta.get("also", [])
    if not isinstance(also, list) or not all(_is_other(other) for other in also):
        raise TraceError("`#meta`.`also` is to list configurations: `set`, `releases` and `properties` of each")
    return also[::-1]


def _is_other(other: Any) -> bool:
    kinds = {"set": dict, "releases": list, "properties": dict}
    try:
        return bool(other) and all(isinstance(value, kinds[key]) for key, value in other.items())
    except WRONG:
        return False
