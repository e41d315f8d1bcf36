"""Areas with borders, read from a GeoJSON file (RFC 7946), and drawn as a map."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, cos, radians
from pathlib import Path
from typing import Any, final

from hedgerow.errors import NOTHING, JobError
from hedgerow.figures import Drawing, Shade, escape, fitted, svg, text

Ring = tuple[tuple[float, float], ...]
_NAMED_BY = ("PUMA", "GEOID", "name", "NAME", "id")
_FEWEST, _MOST = 2, 100
_WIDE, _HIGH = 380, 460


@final
@dataclass(frozen=True)
class Shapes:
    """The borders of named areas, in degrees of longitude and latitude.

    Attributes:
        names: of the areas, in the order of the file.
        rings: of each area, its outer borders and holes.
    """

    names: tuple[str, ...]
    rings: tuple[tuple[Ring, ...], ...]

    @classmethod
    def read(cls, path: Path) -> "Shapes":
        """Polygons of a FeatureCollection, each with a name of its own; anything else is refused."""
        try:
            told = json.loads(path.read_text("utf-8"))
            features = told["features"]
            rings = tuple(_rings(f["geometry"]) for f in features)
            names = _names(features)
        except OSError as problem:
            raise JobError(f"The map {path} cannot be read: {problem.strerror}. {NOTHING}") from None
        except (ValueError, KeyError, TypeError, IndexError) as problem:
            raise JobError(
                f"The map {path} is not understood: {problem}. It should be a GeoJSON FeatureCollection of Polygons "
                "or MultiPolygons in degrees (longitude, latitude), where every feature has one of "
                f"{', '.join(_NAMED_BY[:-1])} among its properties, or an id. {NOTHING}"
            ) from None
        if not _FEWEST <= len(names) <= _MOST:
            raise JobError(
                f"The map {path} has {len(names)} areas; from {_FEWEST} to {_MOST} can be simulated. {NOTHING}"
            )
        return cls(names, rings)

    def drawn(self, fields: Mapping[str, Shade], *, said: str, title: str) -> Drawing:
        """The map, darker where the number is worse; an area that ``fields`` does not have is an outline."""
        points = [p for rings in self.rings for ring in rings for p in ring]
        west, east = min(x for x, _ in points), max(x for x, _ in points)
        south, north = min(y for _, y in points), max(y for _, y in points)
        narrow = cos(radians((south + north) / 2))  # a degree of longitude is shorter than one of latitude
        scale = min(_WIDE / max((east - west) * narrow, 1e-9), _HIGH / max(north - south, 1e-9))
        out, labels = [text(2, 14, title, "panel", "start")], []
        for name, rings in zip(self.names, self.rings, strict=True):
            flat = [tuple((narrow * (x - west) * scale, 22 + (north - y) * scale) for x, y in r) for r in rings]
            f = fields.get(name)
            way = "".join(map(_way, flat))
            if f is None:
                out.append(f'<g><title>{escape(name)}</title><path class="border none" d="{way}"/></g>')
                continue
            out.append(f'<g><title>{escape(f.said)}</title><path class="q{f.level} border" d="{way}"/></g>')
            x, y, room = _middle(max(flat, key=_extent))
            if fitted(f.words, room) == f.words:
                labels.append(text(x, y + 4, f.words, f"on{f.level}", "middle"))
        return svg("".join(out + labels), _WIDE, ceil(26 + (north - south) * scale), said)


def _rings(geometry: Mapping[str, Any]) -> tuple[Ring, ...]:
    kind, told = geometry["type"], geometry["coordinates"]
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError(f"a feature is a {kind}")
    polygons = [told] if kind == "Polygon" else told
    rings = tuple(tuple((float(p[0]), float(p[1])) for p in ring) for polygon in polygons for ring in polygon)
    if not rings or min(map(len, rings)) < 4:
        raise ValueError("a border has fewer than four points")
    if not all(abs(x) <= 180 and abs(y) <= 90 for ring in rings for x, y in ring):
        raise ValueError("a point is not in degrees")
    return rings


def _names(features: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """By the first property that tells all areas apart."""
    for key in _NAMED_BY:
        told = [f.get("id") if key == "id" else (f.get("properties") or {}).get(key) for f in features]
        names = tuple(str(n).strip() for n in told if isinstance(n, str | int))
        if all(names) and len(set(names)) == len(features):
            return names
    raise ValueError("no property names every area, each by another name")


def _way(ring: Ring) -> str:
    """As a path with one decimal; points that fall together there are one."""
    places = [f"{x:.1f} {y:.1f}" for x, y in ring]
    return "M" + "L".join(p for p, before in zip(places, ["", *places], strict=False) if p != before) + "Z"


def _extent(ring: Ring) -> float:
    """Twice the area inside."""
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, ring[1:], strict=False)))


def _middle(ring: Ring) -> tuple[float, float, float]:
    """Where a label stands, in the widest stretch inside at half height, and how much room there is."""
    y = (min(p[1] for p in ring) + max(p[1] for p in ring)) / 2
    cuts = sorted(
        a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
        for a, b in zip(ring, ring[1:], strict=False)
        if (a[1] <= y) != (b[1] <= y)
    )
    stretches = list(zip(cuts[::2], cuts[1::2], strict=False)) or [(ring[0][0], ring[0][0])]
    left, right = max(stretches, key=lambda s: s[1] - s[0])
    return (left + right) / 2, y, right - left
