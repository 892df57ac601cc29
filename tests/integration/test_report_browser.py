"""The tiny study's report in a headless Chromium: at a phone's and a desk's width, light, dark and printed.

The browser is driven over its DevTools pipe, so that no driver, port or package is needed beside it.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest

from common.errors import StudyError
from report import print_report

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
# Where .ci/run unpacks axe-core of the npm registry; git ignores it.
AXE = ROOT / ".cache" / "axe-core" / "package" / "axe.min.js"
PHONE, DESK = 420, 1280


class Browser:
    """One page of a headless Chromium; commands are NUL-ended JSON on its file descriptor 3, answers on 4.

    Source: https://chromedevtools.github.io/devtools-protocol/ and the flag --remote-debugging-pipe.
    """

    def __init__(self, browser, profile, timeout=900):
        theirs, mine = [], []
        for end in (0, 1):
            pipe = os.pipe()
            # Above 9: `3<&N-` must not overwrite the other pipe.
            theirs.append(fcntl.fcntl(pipe[end], fcntl.F_DUPFD_CLOEXEC, 10))
            mine.append(pipe[1 - end])
            os.close(pipe[end])
        shell = f'exec "$@" 3<&{theirs[0]}- 4>&{theirs[1]}-'
        flags = [*print_report.FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", browser, *flags], pass_fds=theirs, stderr=subprocess.DEVNULL
        )
        for descriptor in theirs:
            os.close(descriptor)
        self.writer, self.reader = os.fdopen(mine[0], "wb"), os.fdopen(mine[1], "rb")
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        # A browser that hangs ends here, and the read below with it.
        self.watchdog = threading.Timer(timeout, self.process.kill)
        self.watchdog.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def receive(self):
        """Return the next message; an event is kept, too."""
        while b"\0" not in self.buffer:
            more = os.read(self.reader.fileno(), 1 << 16)
            assert more, "the browser ended"
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **parameters):
        """Run a command and return its result."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while (answer := self.receive()).get("id") != self.count:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, url, width, scheme="light", media="screen"):
        """Load a page at a width, in a colour scheme, for screen or print; its events start anew."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.events.clear()
        # By the loader's name: the page before may still have a load to report.
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while not any(
            event["method"] == "Page.lifecycleEvent"
            and (event["params"]["loaderId"], event["params"]["name"]) == (loader, "load")
            for event in self.events
        ):
            self.receive()

    def run(self, script):
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def faults(self):
        """Return what the console calls an error or a warning, and every uncaught exception."""
        self.run("0")  # After this the browser's earlier messages have been received.
        found = []
        for event in self.events:
            name, told = event["method"], event["params"]
            if (
                name == "Runtime.exceptionThrown"
                or (name == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"))
                or (name == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"))
            ):
                found.append(told)
        return found

    def requested(self):
        """Return the addresses that the page asked for, those that hold their own data left out."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        urls = [told["request"]["url"] for told in sent]
        return [url for url in urls if not url.startswith("data:")]

    def close(self):
        """End the browser."""
        self.watchdog.cancel()
        self.process.terminate()
        self.process.wait(60)
        self.writer.close()
        self.reader.close()


@pytest.fixture(scope="module")
def chromium():
    try:
        return print_report.find_browser()
    except StudyError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def report(chromium, tiny_study):
    return tiny_study / "results" / "tiny" / "report.html"


@pytest.fixture(scope="module")
def browser(chromium, report, tmp_path_factory):
    # The report comes first: the browser must not wait while the study runs.
    browser = Browser(chromium, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_page_opens_without_a_fault_and_fetches_nothing(browser, report, width, scheme):
    browser.open(report.as_uri(), width, scheme)
    assert browser.requested() == [report.as_uri()]
    assert browser.faults() == []
    assert browser.run("innerWidth") == width
    assert browser.run("document.documentElement.scrollWidth") <= width
    # Nothing but what scrolls in its own box reaches over the edge.
    outside = browser.run(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))"
    )
    assert outside == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_every_figure_is_drawn(browser, report, width):
    browser.open(report.as_uri(), width)
    figures = browser.run(
        "Promise.all([...document.querySelectorAll('figure img')].map(async i => (await i.decode(),"
        " {natural: i.naturalWidth, width: i.clientWidth, height: i.clientHeight, alt: i.alt})))"
    )
    # Errors, parameters and pretraining; the arms' curves are the page's own.
    assert len(figures) >= 4
    for figure in figures:
        assert figure["natural"] > 100 and figure["width"] > 200 and figure["height"] > 100 and figure["alt"]


def test_every_link_leads_somewhere(browser, report):
    browser.open(report.as_uri(), DESK)
    links = browser.run("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    inner = [link for link in links if link.startswith("#")]
    files = [link for link in links if not link.startswith("#")]
    assert inner and files
    assert browser.run(f"{json.dumps(inner)}.filter(l => !document.getElementById(l.slice(1)))") == []
    assert [link for link in files if re.match("[a-z]+:|/", link)] == []
    assert [link for link in files if not (report.parent / unquote(link)).is_file()] == []


def test_a_click_on_a_heading_sorts_the_table(browser, report):
    browser.open(report.as_uri(), DESK)
    # The table of runs: three arms of a seed each, or more; sorted by test accuracy.
    read = """
        window.sorted = (clicks) => {
          const table = [...document.querySelectorAll('#test-accuracy table.sortable')].at(-1);
          const heads = [...table.tHead.rows[0].cells];
          const index = heads.findIndex((head) => head.textContent.startsWith('Test'));
          for (let i = 0; i < clicks; i++) heads[index].querySelector('button').click();
          return {
            said: heads.map((head) => head.getAttribute('aria-sort')).filter(Boolean),
            values: [...table.tBodies[0].rows].map((row) => Number(row.cells[index].dataset.sort)),
          };
        }; 0"""
    browser.run(read)
    before = browser.run("sorted(0)")
    assert len(before["values"]) >= 3 and before["said"] == []
    assert browser.run("sorted(1)") == {"said": ["ascending"], "values": sorted(before["values"])}
    assert browser.run("sorted(1)") == {"said": ["descending"], "values": sorted(before["values"], reverse=True)}
    assert browser.faults() == []


def test_an_arm_is_switched_off_everywhere(browser, report):
    browser.open(report.as_uri(), DESK)

    def seen(arm):
        parts = f"[...document.querySelectorAll('main [data-arm=\"{arm}\"]')]"
        return browser.run(f"{parts}.filter(e => e.getClientRects().length).length")

    both = seen(0), seen(1)
    # Its part of the charts, and its rows of the tables.
    assert min(both) > 5
    browser.run("document.getElementById('show-arm-1').click()")
    assert (seen(0), seen(1)) == (both[0], 0)
    browser.run("document.getElementById('show-arm-1').click()")
    assert (seen(0), seen(1)) == both


def test_a_dot_tells_its_value_and_leads_to_its_run(browser, report):
    browser.open(report.as_uri(), DESK)
    told = browser.run(
        "(d => { d.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));"
        " const tip = document.querySelector('.tip'); return [tip.hidden, tip.textContent,"
        " d.parentElement.getAttribute('aria-label')]; })(document.querySelector('#answer .evidence circle'))"
    )
    assert told[0] is False and told[1] == told[2] and re.search(r"seed 1: \d+\.\d\d %$", told[1])
    browser.run("location.hash = document.querySelector('#answer .evidence svg a').getAttribute('href'); 0")
    assert browser.run("document.querySelector('tr:target').getClientRects().length") == 1


def test_without_javascript_pictures_and_whole_tables_remain(browser, report):
    counts = "[document.querySelectorAll('svg.chart circle').length, document.querySelectorAll('main tr').length]"
    browser.open(report.as_uri(), DESK)
    with_scripts = browser.run(counts)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report.as_uri(), DESK)
        # DevTools' own expressions still run.
        assert browser.run(counts) == with_scripts
        assert browser.run("document.querySelectorAll('th button, .filter, .tip').length") == 0
        assert browser.run("document.querySelector('.evidence svg.chart').getBoundingClientRect().height") > 100
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_dark_and_light_are_two_pages(browser, report):
    grounds = {}
    for scheme in ("light", "dark"):
        browser.open(report.as_uri(), DESK, scheme)
        colours = browser.run("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        # The mean of red, green and blue, 0 to 255.
        grounds[scheme] = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 for colour in colours]
    assert grounds["light"][0] > 230 and grounds["light"][1] < 60
    assert grounds["dark"][0] < 60 and grounds["dark"][1] > 200


def test_the_paper_shows_what_the_screen_folds_away_or_names_its_file(browser, report):
    browser.open(report.as_uri(), DESK)
    assert browser.run("document.querySelectorAll('details:not([open])').length") > 0
    # 17.8 cm, what the margins leave of A4, are 673 pixels of 1/96 inch.
    browser.open(report.as_uri(), 673, scheme="dark", media="print")
    height = "[...document.querySelectorAll('details{} > {}')].map(t => t.getBoundingClientRect().height > {})"
    shown = browser.run(height.format(":not(.on-screen)", ".scroll table", 20))
    assert shown and all(shown)
    # A figure stands for its values, and a file for a long table.
    hidden = browser.run(height.format(".on-screen", ".scroll table", 0))
    assert hidden and not any(hidden)
    files = browser.run(height.format(".on-screen", ".source a", 5))
    assert len(files) >= len(hidden) and sum(files) == len(hidden)
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # Anything wider would be cut off or shrink every page of the print.
    wide = "[...document.querySelectorAll('main table')].filter(t => t.getBoundingClientRect().right > innerWidth + 1)"
    assert browser.run(f"{wide}.map(t => t.caption.textContent)") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_axe_finds_no_fault(browser, report, width, scheme):
    if not AXE.is_file():
        pytest.skip(f"{AXE.relative_to(ROOT)} is missing: .ci/run fetches axe-core from the npm registry")
    browser.open(report.as_uri(), width, scheme)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.run(AXE.read_text(encoding="utf-8") + "; 0")
    found = browser.run(
        "axe.run(document, {resultTypes: ['violations']}).then(r => ({passes: r.passes.length,"
        " violations: r.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])}))"
    )
    assert found["passes"] > 20
    assert found["violations"] == []


def test_the_print_is_the_same_from_another_folder(chromium, report, tmp_path):
    prints = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(report, tmp_path / name / "report.html")
        print_report.main(str(tmp_path / name / "report.html"), str(tmp_path / name / "report.pdf"))
        prints.append((tmp_path / name / "report.pdf").read_bytes())
    assert prints[0] == prints[1]
    # Pages with the same content, links among them, and no path or time of this machine.
    assert len(re.findall(rb"/Type /Page\b", prints[0])) >= 3
    assert b"/Dest" in prints[0] and b"/Link" in prints[0]
    assert b"/URI" not in prints[0] and b"file:" not in prints[0]
    assert len(print_report.DATES.findall(prints[0])) == 2 and prints[0].count(b"(D:1970") == 2
