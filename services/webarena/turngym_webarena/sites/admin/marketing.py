"""Price rules, pages and themes in the back office."""

from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.admin.grid import date_of
from turngym_webarena.sites.admin.grids import ACTIONS
from turngym_webarena.sites.admin.office import office, staff
from turngym_webarena.sites.web import Refused, Visit, cents, plain_money

RULES = "/admin/sales_rule/promo_quote/"
AUDIENCES = ("NOT LOGGED IN", "General", "Wholesale", "Retailer", "ALL GROUPS")
WEBSITES = ("Main Website",)


def rule(visit: Visit) -> Response:
    """The form of a price rule that is there."""
    row = visit.need("SELECT * FROM price_rule WHERE id = ?", visit.ids["id"])
    return _rule(visit, dict(row), f"{RULES}save/id/{row['id']}/", row["name"])


def new_rule(visit: Visit) -> Response:
    """The form of a new price rule."""
    blank: dict[str, Any] = dict.fromkeys(
        ("name", "description", "coupon", "customer_groups", "from_date", "to_date"), ""
    )
    blank |= {"active": 1, "website": "", "simple_action": "by_percent", "discount_amount": "0"}
    return _rule(visit, blank, f"{RULES}save/", "New Cart Price Rule")


def _rule(visit: Visit, row: dict[str, Any], target: str, title: str) -> Response:
    return office(
        visit, "rule.html", "Marketing", rule=row, target=target, title=title, actions=ACTIONS, audiences=AUDIENCES,
        websites=WEBSITES,
    )  # fmt: skip


def _rule_values(visit: Visit, back: str) -> dict[str, Any]:
    amount = cents(visit.form.get("discount_amount", "").strip() or "x")
    if amount is None:
        raise Refused("Please enter a number 0 or greater in the field Discount Amount.", back)
    action = visit.form.get("simple_action", "")
    website, audience = visit.form.get("website_ids", ""), visit.form.get("customer_group_ids", "")
    if website not in WEBSITES or audience not in AUDIENCES or action not in ACTIONS:
        raise Refused("Please choose a website, a customer group and an action.", back)
    dates = {name: visit.form.get(name, "").strip() for name in ("from_date", "to_date")}
    if any(text and date_of(text) is None for text in dates.values()):
        raise Refused("Dates are written as 5/17/2023.", back)
    return {
        "name": visit.field("name", "Rule Name", back), "description": visit.form.get("description", "").strip(),
        "active": int(visit.form.get("is_active") == "1"), "website": website, "customer_groups": audience,
        "coupon": visit.form.get("coupon_code", "").strip(), "simple_action": action,
        "discount_amount": plain_money(amount).removesuffix(".00"), **dates,
    }  # fmt: skip


def save_rule(visit: Visit) -> Response:
    """Keep the form of a rule that is there."""
    staff(visit)
    row = visit.need("SELECT id FROM price_rule WHERE id = ?", visit.ids["id"])
    back = f"{RULES}edit/id/{row['id']}/"
    values = _rule_values(visit, back)
    visit.update("price_rule", row["id"], values)
    return visit.go(back, "You saved the rule.")


def create_rule(visit: Visit) -> Response:
    """Keep a new rule."""
    staff(visit)
    identity = visit.insert("price_rule", _rule_values(visit, f"{RULES}new/"))
    return visit.go(f"{RULES}edit/id/{identity}/", "You saved the rule.")


def cms(visit: Visit) -> Response:
    """The form of a page of the shop."""
    row = visit.need("SELECT * FROM cms_page WHERE id = ?", visit.ids["id"])
    return office(visit, "cms.html", "Content", cms=row)


def save_cms(visit: Visit) -> Response:
    """Keep a page of the shop."""
    staff(visit)
    row = visit.need("SELECT id FROM cms_page WHERE id = ?", visit.ids["id"])
    back = f"/admin/cms/page/edit/page_id/{row['id']}/"
    identifier = visit.field("identifier", "URL Key", back)
    if visit.value("SELECT 1 FROM cms_page WHERE identifier = ? AND id <> ?", identifier, row["id"]):
        raise Refused("A page with this URL key exists already.", back)
    visit.run(
        "UPDATE cms_page SET title = ?, heading = ?, identifier = ?, content = ?, active = ? WHERE id = ?",
        visit.field("title", "Page Title", back), visit.form.get("content_heading", "").strip(), identifier,
        visit.form.get("content", "").strip(), int(visit.form.get("is_active") == "1"), row["id"],
    )  # fmt: skip
    return visit.go(back, "You saved the page.")


def theme(visit: Visit) -> Response:
    """One theme, with a preview."""
    row = visit.need("SELECT * FROM theme WHERE id = ?", visit.ids["id"])
    return office(visit, "theme.html", "Content", theme=row)
