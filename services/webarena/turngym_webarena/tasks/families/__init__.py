"""Every family of tasks, by its template's number."""

from turngym_webarena.tasks.families import buying, office, orders, shopping, staff
from turngym_webarena.tasks.families.model import Template

TEMPLATES: dict[int, Template] = {
    number: template
    for book in (shopping.BOOK, orders.BOOK, buying.BOOK, office.BOOK, staff.BOOK)
    for number, template in book.templates.items()
}
