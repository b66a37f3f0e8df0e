"""Reading answers out of the factbook's texts, and the texts themselves."""

import pytest

from turngym_corpus import readers, relations
from turngym_corpus.generator import normalise
from turngym_corpus.passage import Passage, clean, split_text, unique_titles


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Oslo", ("Oslo",)),
        ("Tripoli (Tarabulus)", ("Tripoli", "Tarabulus")),
        ("Suva (on Viti Levu)", ("Suva",)),
        ("Brasília", ("Brasília", "Brasilia")),
        ("Baku (Baki, Baky)", ("Baku", "Baki", "Baky")),
        ("La Paz (administrative capital); Sucre (constitutional capital)", ()),
        ("none", ()),
        ("", ()),
    ],
)
def test_a_plain_name_is_one_name_with_its_other_names(text: str, answers: tuple[str, ...]) -> None:
    assert readers.plain_name(text) == answers


@pytest.mark.parametrize(
    ("text", "name", "height"),
    [
        ("Tahat 2,908 m", "Tahat", "2,908 m"),
        ("Mont Blanc 4,810", "Mont Blanc", "4,810 m"),
        ("Qornet es Saouda 3,088 m", "Qornet es Saouda", "3,088 m"),
        ("Jengish Chokusu (Pik Pobedy) 7,439 m", "Jengish Chokusu", "7,439 m"),
        ("Mount McKinley 6,190 m (highest point in North America)", "Mount McKinley", "6,190 m"),
        ("unnamed elevation 675 m; located 2.5 km southeast of the town of Kotopounga", None, "675 m"),
        ("Pacific Ocean 0 m", "Pacific Ocean", None),
        ("Caspian Sea -28 m", "Caspian Sea", "-28 m"),
    ],
)
def test_an_extreme_point_has_a_name_and_a_height(text: str, name: str | None, height: str | None) -> None:
    assert readers.summit(text)[:1] == ((name,) if name else ())
    assert readers.metres(text)[:1] == ((height,) if height else ())


def test_an_amount_may_be_written_with_and_without_its_unit() -> None:
    area = readers.amount("sq km", "square kilometers")
    assert area("799,380 sq km") == ("799,380 sq km", "799,380 square kilometers", "799,380")
    assert area("643,801 sq km ; 551,500 sq km (metropolitan France)")[0] == "643,801 sq km"
    assert area("0 sq km") == ()
    assert readers.amount("km")("66.5 km") == ("66.5 km", "66.5")
    assert readers.amount("km")("12 nm") == ()
    assert readers.amount()("$1.29 trillion (2023 est.)") == ("$1.29 trillion",)
    assert readers.amount()("68,512,806 (2025 est.)") == ("68,512,806",)
    assert (
        readers.amount("% of population", " percent")("87% of population (2023 est.)")[0]
        == "87% of population"
    )


@pytest.mark.parametrize(
    ("read", "text", "answers"),
    [
        (readers.currency, "Algerian dinars (DZD) per US dollar -",
         ("Algerian dinars", "Algerian dinar", "DZD", "dinars", "dinar")),
        (readers.currency, "tenge (KZT) per US dollar -", ("tenge", "KZT")),
        (readers.anthem, '"Kassaman" (We Pledge)', ("Kassaman", "We Pledge")),
        (readers.lyricist, "Hugh Braham SHERLOCK/Robert Charles LIGHTBOURNE", ("Hugh Braham SHERLOCK",)),
        (readers.person_in_office, "President Daniel Francisco CHAPO (since 15 January 2025)",
         ("President Daniel Francisco CHAPO", "Daniel Francisco CHAPO")),
        (readers.person_in_office, "King CHARLES III (since 2022); represented by Sir Patrick ALLEN (since 2009)", ()),
        (readers.date, "5 July 1962 (from France)", ("5 July 1962", "July 5, 1962")),
        (readers.date, "14-15 May 1811 (from Spain)", ()),
        (readers.freed_from, "10 October 1970 (from the UK)", ("UK", "United Kingdom")),
        (readers.first_share, "Italy 29%, France 14%, Spain 13%", ("Italy",)),
        (readers.first_share, "Italy 14%, France 14%, Spain 13%", ()),
        (readers.first_listed, "natural gas, crude petroleum (2023)", ("natural gas",)),
        (readers.demonym, "Algerian(s)", ("Algerian", "Algerians")),
        (readers.demonym, "Frenchman(men), Frenchwoman(women)", ()),
        (readers.code, ".dz", (".dz",)),
        (readers.code, "metropolitan France - .fr; Reunion - .re", ()),
        (readers.sites, "17 (16 cultural, 1 natural)", ("17",)),
        (readers.agency, "Space Agency of Paraguay (Agencia Especial del Paraguay, AEP; established 2014) (2025)",
         ("Space Agency of Paraguay", "AEP")),
    ],
)  # fmt: skip
def test_a_reader_takes_the_answer_or_nothing(
    read: readers.Reader, text: str, answers: tuple[str, ...]
) -> None:
    assert read(text) == answers


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("France", "France"),
        ("Gambia", "the Gambia"),
        ("United States", "the United States"),
        ("Solomon Islands", "the Solomon Islands"),
        ("Dominican Republic", "the Dominican Republic"),
        ("Dominica", "Dominica"),
    ],
)
def test_a_country_has_its_article_in_a_sentence(name: str, phrase: str) -> None:
    assert relations.with_article(name) == phrase


def test_patterns_have_one_place_for_the_country() -> None:
    for relation in relations.RELATIONS:
        assert all(pattern.count("{x}") == 1 and pattern[-1] in "?." for pattern in relation.ask), (
            relation.name
        )
        assert relation.identifies.count("{answer}") == bool(relation.identifies), relation.name
    assert set(relations.MEASURES) <= {relation.name for relation in relations.RELATIONS}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<strong>note:</strong> 3 km&nbsp; east", "note: 3 km east"),
        ("San Jos&eacute;", "San José"),
        ("one<br><br>two<br>", "one; two"),
        ("<p>“quoted” text .</p>", '"quoted" text.'),
        ("2,908 m", "2,908 m"),
    ],
)
def test_markup_becomes_one_line_of_plain_text(markup: str, text: str) -> None:
    assert clean(markup) == text


def test_a_long_text_is_cut_at_sentences_and_loses_nothing() -> None:
    text = "One two three. Four five; six seven eight nine ten eleven. Twelve."
    assert split_text(text, 5) == ["One two three. Four five;", "six seven eight nine ten", "eleven. Twelve."]
    assert split_text(text) == [text]
    assert split_text("") == []


def test_of_two_passages_with_one_title_the_first_stays() -> None:
    passages = [
        Passage("a", "Mount Cook", "x"),
        Passage("b", "Mount  cook!", "y"),
        Passage("a", "Other", "z"),
    ]
    assert [passage.text for passage in unique_titles(passages)] == ["x"]


def test_normalising_is_search_r1s() -> None:
    assert normalise("The  Hague, (an) A-B!") == "hague ab"
