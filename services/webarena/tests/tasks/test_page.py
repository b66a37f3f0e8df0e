"""The oracle's reading of an observation."""

import pytest

from turngym_webarena.tasks.families.moves import after, after_heading, fill, months_since
from turngym_webarena.tasks.page import Lost, Page, amount

TEXT = """\
Tab 0 (current): My Orders
URL: http://market.test/sales/order/history/

[1] RootWebArea 'My Orders' focused: True
\t[2] heading "My 'best' Orders"
\t[3] StaticText 'below'
\t[4] table ''
\t\t[5] row ''
\t\t\t[6] columnheader 'Order #' required: False
\t\t\t[7] columnheader 'Total ▲' required: False
\t\t[8] row ''
\t\t\t[9] cell '000000007'
\t\t\t[10] cell '$1,234.50'
\t\t\t\t[11] link 'View'
\t\t[12] row ''
\t\t\t[13] rowheader 'Grand Total'
\t\t\t[14] cell '$9.00'
\t[15] textbox 'Name *' required: False
\t\t[16] StaticText 'Ada'
\t[17] textbox 'Empty' required: False"""


def test_nodes_lie_within_others() -> None:
    page = Page(TEXT)
    assert [node.number for node in page.walk()] == list(range(1, 18))
    assert page.get("heading").name == "My 'best' Orders"
    assert after_heading(page, "My 'best' Orders") == "below"
    assert page.value("Name") == "Ada"
    assert page.value("Empty") == ""
    assert after(page, "My 'best' ") == "Orders"
    assert page.origin == "http://market.test"


def test_a_table_is_rows_of_cells_by_column() -> None:
    page = Page(TEXT)
    (row,) = page.table("Order #")
    assert (row["Order #"].text, row["Total"].text) == ("000000007", "$1,234.50")
    assert row["Total"].find("link", "View") is not None
    assert page.fact("Grand Total") == "$9.00"


def test_what_isn_t_there_is_lost() -> None:
    page = Page(TEXT)
    for look in (
        lambda: page.get("button"),
        lambda: page.field("Nothing"),
        lambda: page.table("No"),
        lambda: page.fact("No"),
        lambda: after(page, "No"),
        lambda: Page("").origin,
    ):
        with pytest.raises(Lost):
            look()


def test_a_field_that_holds_something_is_emptied_first() -> None:
    page = Page(TEXT)
    filling = fill(page, "Name", "Bea")
    assert next(filling) == "clear [15]"
    assert filling.send(page) == "type [15] [Bea] [0]"
    assert next(fill(page, "Empty", "Bea")) == "type [17] [Bea] [0]"


@pytest.mark.parametrize(("text", "money"), [("$1,234.50", 123450), ("Now 7", 700), ("a 3 b $0.5", 50)])
def test_amounts(text: str, money: int) -> None:
    assert amount(text) == money


def test_months() -> None:
    dates = ("5/17/23", "6/1/23", "12/31/22", "5/17/22")
    assert [months_since("May 2023", date) for date in dates] == [0, 1, -5, -12]
