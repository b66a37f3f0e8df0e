"""A small site of hard pages for the browser's tests: one page a difficulty, none of them the project's own sites'."""

import asyncio
import json

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

HOST = "site.test"
OTHER = "other.test"

INDEX = """
<h1>Hard pages</h1>
<nav><a href="/form">A form</a> <a href="/menu">A menu</a> <a href="/scroll">Scrolling</a></nav>
<p>Some <strong>plain</strong> text with an apostrophe: it's here.</p>
<ul><li>One</li><li>Two</li></ul>
<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" alt="a dot">
<div hidden>hidden text</div><div style="display:none">more hidden text</div>
<a href="http://other.test/">The other site</a> <a href="http://example.com/">Outside</a>
<a href="/popup-target" target="_blank">In a new tab</a>
<a href="/file.bin" download>A download</a> <a href="javascript:document.title='scripted'">A script</a>
"""

FORM = """
<h1>A form</h1>
<form action="/echo" method="post">
<label>Name <input name="name" value="Ann"></label>
<label>Notes <textarea name="notes"></textarea></label>
<label>Amount <input type="number" name="amount"></label>
<label>Day <input type="date" name="day"></label>
<label>Hour <input type="time" name="hour"></label>
<label>Locked <input name="locked" value="as it is" readonly></label>
<label>Colour <select name="colour"><option value="r">Red</option><option value="g">Green</option>
<option value="b" disabled>Blue</option></select></label>
<label>Gift <input type="checkbox" name="gift" value="yes"></label>
<label>Small <input type="radio" name="size" value="s"></label>
<label>Large <input type="radio" name="size" value="l"></label>
<label>Photo <input type="file" name="photo"></label>
<div contenteditable="true" aria-label="Editor" role="textbox" id="editor">start</div>
<button>Send</button>
</form>
<p id="log"></p>
<script>
for (const kind of ['keyup', 'change']) document.addEventListener(kind, e => {
  document.getElementById('log').textContent = 'heard ' + kind + ' on ' + e.target.name; });
</script>
"""

DIALOGS = """
<h1>Dialogs</h1>
<button onclick="alert('Careful!'); say('alerted')">Alert</button>
<button onclick="say(confirm('Really?') ? 'confirmed' : 'refused')">Confirm</button>
<button onclick="say('prompted ' + prompt('Your name?', 'nobody'))">Prompt</button>
<button onclick="window.onbeforeunload = e => { e.preventDefault(); return 'stay?'; }; say('guarded')">Guard</button>
<a href="/">Leave</a> <p id="said">nothing yet</p>
<script>function say(what) { document.getElementById('said').textContent = what; }</script>
"""

MENU = """
<style>.sub { display: none } li.top:hover .sub { display: block }</style>
<ul><li class="top"><a href="#">Clothing</a><ul class="sub"><li><a href="/echo?shirts=1">Shirts</a></li></ul></li></ul>
<h1>Menu</h1>
"""

PARAGRAPHS = "".join(f'<p style="height:100px">paragraph {number}</p>' for number in range(40))
SCROLL = f"""
<style>body {{ margin: 0; height: 100vh; overflow: hidden }} #inner {{ height: 400px; overflow: auto }}</style>
<h1>Nested</h1><div id="inner">{PARAGRAPHS}</div>
"""

TALL = "<h1>Tall</h1>" + "".join(f'<p style="height:200px">block {number}</p>' for number in range(30))

POPUPS = """
<h1>Popups</h1>
<button onclick="window.open('/popup-target')">Open</button>
<button onclick="window.open('/popup-target').close(); document.title = 'closed again'">Open and close</button>
<button onclick="window.open('http://example.com/')">Open outside</button>
"""

LATE = """
<h1>Late</h1><p id="what">waiting</p>
<button onclick="fetch('/slow-text').then(r => r.text()).then(t => { what.textContent = t; })">Fetch</button>
<button onclick="setTimeout(() => location.href = '/echo?later=1', 0)">Go later</button>
<button onclick="history.pushState({}, '', '/late?pushed=1'); document.title = 'pushed'">Push</button>
<a href="/slow">A slow page</a> <a href="#part">A part</a> <a href="/nothing">No content</a>
<a href="/redirect">Redirected</a><p id="part">the part</p>
"""

ODD = f"""
<h1>Odd elements</h1>
<label><input type="checkbox" style="opacity:0;position:absolute;width:0;height:0" onclick="say('toggled')">Styled</label>
<a href="/echo?wrapped=1" style="display:inline-block;width:60px">a link that goes over several lines of text</a>
<p>{"word " * 28}<a href="/echo?inline=1">an inline link that is broken over two lines because it is rather long</a></p>
<button disabled>Disabled</button><button style="position:absolute;top:3000px" onclick="say('far')">Far below</button>
<button onclick="this.remove(); say('removed')">Remove me</button>
<p id="said">nothing yet</p>
<script>function say(what) {{ document.getElementById('said').textContent = what; }}</script>
"""


def html(body: str, title: str = "") -> HTMLResponse:
    """A page."""
    return HTMLResponse(f"<!doctype html><title>{title or 'Test site'}</title><body>{body}</body>")


def huge(count: int) -> str:
    """A page of about three nodes a row."""
    rows = (f'<a href="/echo?row={number}">row {number}</a> of many' for number in range(count))
    items = "".join(f'<li style="height:20px">{row}</li>' for row in rows)
    return f"<h1>Huge</h1><ul>{items}</ul>"


async def echo(request: Request) -> Response:
    """What was sent, as the text of a page."""
    form = {
        name: value if isinstance(value, str) else "a file" for name, value in (await request.form()).items()
    }
    said = json.dumps({**dict(request.query_params), **form}, ensure_ascii=False, sort_keys=True)
    escaped = said.replace("&", "&amp;").replace("<", "&lt;")
    return html(
        f"<h1>Echo</h1><pre>{escaped}</pre><p>session {request.headers.get('X-Session', 'none')}</p>", "Echo"
    )


async def slow(request: Request) -> Response:
    """A page that takes its time."""
    await asyncio.sleep(float(request.query_params.get("s", "0.7")))
    return html("<h1>Slow but here</h1>", "Slow")


async def slow_text(request: Request) -> Response:
    """A text that takes its time."""
    await asyncio.sleep(0.4)
    return PlainTextResponse("fetched")


async def never(request: Request) -> Response:
    """A page with a picture that never comes."""
    return html('<h1>Never done</h1><img alt="slow" src="/slow?s=60">', "Never")


def create_app() -> Starlette:
    """The site."""
    fixed = {
        "/": (INDEX, "Hard pages"), "/form": (FORM, "Form"), "/dialogs": (DIALOGS, "Dialogs"), "/menu": (MENU, "Menu"),
        "/scroll": (SCROLL, "Nested"), "/tall": (TALL, "Tall"), "/popups": (POPUPS, "Popups"), "/late": (LATE, "Late"),
        "/odd": (ODD, "Odd"), "/popup-target": ("<h1>Popped up</h1><a href='/'>Home</a>", "Popup"),
    }  # fmt: skip

    def page(path: str) -> Route:
        body, title = fixed[path]

        async def answer(request: Request) -> Response:
            return html(body, title)

        return Route(path, answer)

    async def big(request: Request) -> Response:
        return html(huge(int(request.path_params["count"])), "Huge")

    async def binary(request: Request) -> Response:
        return Response(b"\x00" * 64, media_type="application/octet-stream")

    async def nothing(request: Request) -> Response:
        return Response(status_code=204)

    async def redirect(request: Request) -> Response:
        return RedirectResponse("/echo?redirected=1")

    return Starlette(
        routes=[
            *(page(path) for path in fixed),
            Route("/echo", echo, methods=["GET", "POST"]),
            Route("/slow", slow),
            Route("/slow-text", slow_text),
            Route("/never", never),
            Route("/huge/{count:int}", big),
            Route("/file.bin", binary),
            Route("/nothing", nothing),
            Route("/redirect", redirect),
        ]
    )
