"""The page in headless Chromium: page_in_browser.py DPREDUCE CHROMIUM CHROMEDRIVER [FOLDER]

Makes reports and a ledger with the program, one of them with hostile names, and looks at their pages: no message on
the console, no request, every chart drawn, values those of the JSON, everything reached by keyboard, nothing wider than the
window, all values there without scripts. With FOLDER, pictures of the pages are left there.
"""
import base64
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PROGRAM, CHROMIUM, CHROMEDRIVER = map(os.path.abspath, sys.argv[1:4])
PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">'&"
WIDTHS = (1280, 400)
METHODS = ("auto", "fc", "gd", "ls", "mean", "prototypes", "public")
LONG_NAMES = ["glioblastoma multiforme, IDH wild type, of the left temporal lobe", "glioblastoma multiforme, IDH wild type, of the right temporal lobe",
              "meningioma", "no tumor"]


def program(folder, line, ranks=0):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_hwloc_base_binding_policy="none", EVENT_NOEPOLL="1")
    launcher = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks else []
    subprocess.run(launcher + [PROGRAM] + (line.split() if isinstance(line, str) else line), cwd=folder, check=True,
                   env=environment, stdout=subprocess.DEVNULL)


def make_pages(folder):
    rows = "--train-x d/train_x.npy --train-y d/train_y.npy --test-x d/test_x.npy --test-y d/test_y.npy --classes 4 "
    program(folder, "synth --out d --kind gaussian-mixture --rows 2000 --test-rows 400 --dim 16 --classes 4 --separation 4")
    program(folder, "fit --method mean --mu 0.5 " + rows)
    program(folder, "fit --method fc --rounds 5 --mu 1 --out fc.safetensors --report fit.json --html fit.html " + rows, ranks=2)
    report = json_in(f"{folder}/fit.json")
    report["class_names"] = [HOSTILE, "b", "c", "d"]
    report["method"] = report["model"] = HOSTILE
    report["silos"] = {"count": 3, "colluding": 0, "noise": {"source": "central"},
                       "took_part": [{"silo": 1, "name": "one"}, {"silo": 2, "name": HOSTILE}],
                       "lost": [{"silo": 3, "name": HOSTILE, "phase": "shares", "round": 2, "reason": HOSTILE}]}
    hostile = "<b onclick=x>&\"'.json"
    pathlib.Path(folder, hostile).write_text(json.dumps(report))
    program(folder, ["report", hostile, "fit.json", "ledger.jsonl", "--out", "all.html"])
    make_sweep(folder)
    make_comparison(folder)
    make_numbers(folder)
    return ["fit", "all", "sweep", "two", "numbers"]


def make_numbers(folder):
    """A regression on columns in units of their own."""
    import random
    random.seed(1)
    with open(f"{folder}/x.csv", "w") as x, open(f"{folder}/y.csv", "w") as y:
        print("size in square meters,age of the building in years,rooms", file=x)
        for _ in range(4000):
            size, age, rooms = random.uniform(20, 200), random.uniform(0, 80), random.randint(1, 8)
            print(size, age, rooms, sep=",", file=x)
            print(900 * size - 1200 * age + 8000 * rooms + random.gauss(0, 15000), file=y)
    rows = "--train-x x.csv --targets y.csv --test-x x.csv --test-targets y.csv --feature-range private "
    program(folder, "fit --mu 1 --ledger n.jsonl --out n.safetensors --report numbers.json --html numbers.html " + rows)


def make_sweep(folder):
    """Reports of seven methods for three epsilons each."""
    report = json_in(f"{folder}/fit.json")
    reports = []
    for place, method in enumerate(METHODS):
        for epsilon in (1, 2, 4):
            report.update(method=method, model=f"{method}.safetensors")
            report["privacy"].update(epsilon=epsilon * 5.0)  # no less than mu gives
            report["test"].update(accuracy=0.8 + 0.01 * place + 0.02 * epsilon)
            reports.append(f"{method}-{epsilon}.json")
            pathlib.Path(folder, reports[-1]).write_text(json.dumps(report))
    program(folder, ["report", *reports, "--out", "sweep.html"])


def make_comparison(folder):
    pathlib.Path(folder, "names.txt").write_text("\n".join(LONG_NAMES) + "\n")
    rows = "--train-x d/train_x.npy --train-y d/train_y.npy --class-names names.txt "
    program(folder, "fit --method fc --rounds 2 --mu 1 --ledger m.jsonl --out old.safetensors " + rows)
    program(folder, "fit --method fc --rounds 4 --mu 1 --ledger m.jsonl --out new.safetensors " + rows)
    program(folder, "evaluate --private --mu 1 --ledger e.jsonl --model old.safetensors new.safetensors --metrics accuracy,recall,confusion,calibration "
                    "--test-x d/test_x.npy --test-y d/test_y.npy --report two.json --html two.html")


def json_in(path):
    return json.loads(pathlib.Path(path).read_text())


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for one in value for number in numbers_in(one)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class CountingHandler(http.server.SimpleHTTPRequestHandler):
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        pass


class PageInBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = make_pages(cls.folder.name)
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         f"--user-data-dir={cls.folder.name}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
        cls.browser.set_page_load_timeout(120)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def json_of(self, name):
        return json_in(f"{self.folder.name}/{name}")

    def open(self, name, width=1280, dark=False):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.browser.get_log("performance")
        self.browser.get(f"file://{self.folder.name}/{name}.html")

    def unfold(self):
        """Opens what is folded, and waits until its charts are drawn."""
        self.run_script("document.querySelectorAll('article details').forEach(one => one.open = true)")
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 100)))")

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def shown_values(self):
        return {float(value) for value in self.run_script(
            "return [...document.querySelectorAll('data')].map(one => one.value)")}

    def picture(self, name):
        if PICTURES is None:
            return
        size = self.run_script("return [innerWidth, document.documentElement.scrollHeight]")
        taken = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": {
            "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}})
        with open(f"{PICTURES}/{name}.png", "wb") as file:
            file.write(base64.b64decode(taken["data"]))

    def test_every_chart_is_drawn_in_its_window_without_a_message_or_a_request(self):
        for name in self.pages:
            for width in WIDTHS:
                for dark in (False, True):
                    with self.subTest(name=name, width=width, dark=dark):
                        self.open(name, width, dark)
                        self.assertEqual(self.browser.get_log("browser"), [])
                        asked = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
                        asked = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
                        self.assertEqual([url for url in asked if not url.endswith(f"/{name}.html")], [])
                        self.picture(f"{name}-{width}-{'dark' if dark else 'light'}")
                        self.unfold()
                        figures = self.run_script("""return [...document.querySelectorAll('figure')].map(figure => {
                          const svg = figure.querySelector('.plot > svg, .panels svg');
                          const box = svg.getBoundingClientRect();
                          return [box.width, box.height, box.right, svg.querySelectorAll('.mark, .bar, .cell, .line').length,
                                  svg.getAttribute('role'), svg.getAttribute('aria-label').length];})""")
                        self.assertGreater(len(figures), 0)
                        for figure_width, height, right, marks, role, label in figures:
                            self.assertGreater(figure_width, 200)
                            self.assertGreater(height, 60)
                            self.assertLessEqual(right, width)
                            self.assertGreater(marks, 0)
                            self.assertEqual(role, "img")
                            self.assertGreater(label, 20)
                        self.assertLessEqual(self.run_script("return document.documentElement.scrollWidth"), width)
                        outside = self.run_script("""return [...document.querySelectorAll('.plot text')].filter(text => {
                          const box = text.getBoundingClientRect(); const plot = text.closest('svg').getBoundingClientRect();
                          return box.width > 0 && (box.left < plot.left - 1 || box.right > plot.right + 1);
                        }).map(text => text.textContent)""")
                        self.assertEqual(outside, [], "texts that are cut off")

    def ticks(self, caption):
        """Of the figure with that caption: words and places of the ticks of each axis, from side to side and from above."""
        return self.run_script("""
          const figure = [...document.querySelectorAll('figure')].find(one => one.textContent.includes(arguments[0]));
          const of = (axis, side) => [...figure.querySelectorAll(`.plot .axis${axis} .tick`)].map(tick =>
            [tick.textContent, Number(tick.getAttribute('transform').match(/\\((.*),(.*)\\)/)[side])]);
          return [of(':not(.grid)', 1), of('.grid', 2)];""", caption)

    def test_curves_of_shares_over_shares_are_square_beside_a_diagonal(self):
        for name, caption in (("fit", "What an attacker can learn at best"), ("two", "Calibration")):
            for width in WIDTHS:
                self.open(name, width)
                across, up = self.ticks(caption)
                for ticks in (across, up):
                    self.assertEqual([ticks[0][0], ticks[-1][0]], ["0\u00a0%", "100\u00a0%"])
                self.assertAlmostEqual(across[-1][1] - across[0][1], up[0][1] - up[-1][1], delta=1)
                self.assertEqual(self.run_script("""return [...document.querySelectorAll('figure')].find(one => one.textContent.includes(arguments[0]))
                  .querySelectorAll('.plot > svg > .diagonal').length""", caption), 1)
        self.assertEqual(self.run_script("return document.querySelectorAll('.plot > svg .band').length"), 1)

    def test_each_figure_has_its_scale_and_those_of_one_kind_share_theirs(self):
        self.open("two")
        drawn = self.run_script("""return [...document.querySelectorAll('table[data-intervals]')].map(table => [...table.tBodies[0].rows].map(row =>
          [row.cells[0].textContent, [...row.cells].slice(1, 4).map(cell => Number(cell.querySelector('data').value)),
           [...row.querySelectorAll('.drawn span')].map(end => end.textContent), row.querySelectorAll('.drawn .zero').length,
           ['x', 'width'].map(name => Number(row.querySelector('.drawn .held').getAttribute(name)))]))""")
        figures, recalls = drawn
        self.assertEqual([row[0] for row in figures[:3]], ["accuracy of old", "accuracy of new", "new less old"])
        number = lambda end: float(end.replace("−", "-").replace("\u00a0%", "")) / (100 if "%" in end else 1)
        for name, (value, low, high), ends, zeros, (x, width) in figures + recalls:
            first, last = map(number, ends)
            self.assertLessEqual(first, low, name)
            self.assertGreaterEqual(last, high, name)
            self.assertEqual(zeros, 1 if first < 0 else 0, name)
            self.assertAlmostEqual(x, 100 * (low - first) / (last - first), delta=0.01)
            self.assertAlmostEqual(width, max(0.5, 100 * (high - low) / (last - first)), delta=0.01)
        self.assertEqual(number(figures[2][2][0]), -number(figures[2][2][1]), "a difference has 0 in the middle")
        self.assertEqual(figures[2][3], 1)
        self.assertEqual(len({tuple(row[2]) for row in recalls}), 1)

    def test_coefficients_have_intervals_in_units_of_their_own(self):
        self.open("numbers")
        drawn = self.run_script("""return [...document.querySelectorAll('table[data-intervals] tbody tr')].map(row =>
          [row.cells[0].textContent, row.querySelectorAll('.drawn .held').length])""")
        largest = self.json_of("numbers.json")["coefficients"]["largest"]
        self.assertEqual(drawn, [[one["name"], 1] for one in largest])
        shown = self.shown_values()
        for number in numbers_in([{**one, "target": 0, "column": 0} for one in largest]):
            self.assertIn(float(number), shown | {0.0})
        titles = self.run_script("return [...document.querySelectorAll('figcaption strong, caption')].map(one => one.textContent)")
        self.assertEqual(len(titles), len(set(titles)), titles)

    def test_bars_of_the_budget_are_shares_of_all_of_it(self):
        self.open("fit")
        across, _ = self.ticks("The budget by release")
        self.assertEqual([across[0][0], across[-1][0]], ["0\u00a0%", "100\u00a0%"])

    def test_a_confusion_has_a_scale_of_color_and_long_names_keep_both_ends(self):
        for width in WIDTHS:
            self.open("two", width)
            self.assertEqual(self.run_script("return document.querySelectorAll('.plot .scale .cell').length"), 20)
            names = self.run_script("""return [...document.querySelectorAll('[data-chart=matrix] .name')].map(name =>
              [name.firstChild.textContent, name.querySelector('title')?.textContent ?? null])""")
            self.assertEqual([whole or shown for shown, whole in names], LONG_NAMES)
            for (shown, _), whole in zip(names[:2], LONG_NAMES):
                first, last = shown.split("…")
                self.assertTrue(first and last and whole.startswith(first) and whole.endswith(last), shown)

    def test_seven_methods_are_a_panel_each(self):
        for width in WIDTHS:
            self.open("sweep", width)
            panels = self.run_script("""return [...document.querySelectorAll('.panels > div')].map(panel =>
              [panel.querySelector('h4').textContent, panel.querySelectorAll('.series:not(.others) .mark').length,
               panel.querySelectorAll('.series.others').length])""")
            self.assertEqual(panels, [[method, 3, 6] for method in METHODS])
            self.assertLess(self.run_script("return document.documentElement.scrollHeight"), 12000)

    def test_a_server_is_asked_for_the_page_alone(self):
        handler = functools.partial(CountingHandler, directory=self.folder.name)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            self.browser.get(f"http://127.0.0.1:{server.server_port}/all.html")
            self.assertEqual(self.run_script("return document.documentElement.dataset.drawn"), "yes")
            self.assertEqual(self.browser.get_log("browser"), [])
            # The browser's own question for an icon is none of the page's.
            self.assertEqual([path for path in CountingHandler.asked if path != "/favicon.ico"], ["/all.html"])
        finally:
            server.shutdown()
            server.server_close()

    def test_values_are_those_of_the_json(self):
        self.open("fit")
        shown = self.shown_values()
        report = self.json_of("fit.json")
        for part in ("privacy", "spectra", "test"):
            for number in numbers_in(report[part]):
                self.assertIn(float(number), shown, part)

    def test_drawn_points_are_those_of_the_json(self):
        self.open("fit")
        norms = [release["norm"] / release["noise_norm"] for release in self.json_of("fit.json")["privacy"]["releases"] if release["name"] == "gradient"]
        places = self.run_script("""
          const figure = [...document.querySelectorAll('figure')].find(one => one.textContent.includes('Norm of each round'));
          const place = mark => mark.getAttribute('transform').match(/,(.*)\\)/)[1];
          const ticks = [...figure.querySelectorAll('.grid .tick')].map(tick => [tick.textContent, place(tick)]);
          return [[...figure.querySelectorAll('.plot > svg .series-0 .mark')].map(place), ticks];""")
        ticks = [(float(text.replace("−", "-")), float(place)) for text, place in places[1]]
        (low, low_at), (high, high_at) = ticks[0], ticks[-1]
        self.assertEqual(low, 0.0, "the scale begins at 0")
        self.assertEqual(len(places[0]), len(norms))
        pixel = (high - low) / abs(high_at - low_at)
        for norm, height in zip(norms, places[0]):
            drawn = low + (float(height) - low_at) / (high_at - low_at) * (high - low)
            self.assertLess(abs(drawn - norm), pixel)

    def test_names_of_documents_run_nothing(self):
        self.open("all")
        self.assertNotEqual(self.browser.title, "run")
        self.assertEqual(self.run_script("return document.images.length"), 0)
        self.assertEqual(self.run_script("return [...document.scripts].filter(one => one.type !== 'application/json').length"), 1)
        self.assertEqual(self.run_script("return document.querySelectorAll('[onclick], [onerror], [style]').length"), 0)
        self.assertIn(HOSTILE, self.run_script("return document.body.textContent"))

    def test_the_keyboard_reaches_everything(self):
        self.open("fit")
        focusable = self.run_script("""window.wanted = [...document.querySelectorAll('a, summary, [tabindex="0"]')]
          .filter(one => one.checkVisibility()); return window.wanted.length""")
        reached = set()
        body = self.browser.find_element(By.TAG_NAME, "body")
        body.click()
        self.run_script("getSelection().removeAllRanges(); document.activeElement.blur(); scrollTo(0, 0)")
        for _ in range(2 * focusable + 5):
            webdriver.ActionChains(self.browser).send_keys(Keys.TAB).perform()
            reached.add(self.run_script("return window.wanted.indexOf(document.activeElement)"))
        self.assertEqual(reached - {-1}, set(range(focusable)))
        summary = self.browser.find_element(By.CSS_SELECTOR, "figure summary")
        self.run_script("arguments[0].focus()", summary)
        webdriver.ActionChains(self.browser).send_keys(Keys.ENTER).perform()
        self.assertTrue(self.run_script("return arguments[0].parentElement.open", summary))
        table = self.browser.find_element(By.CSS_SELECTOR, "figure details[open] .scroll")
        self.assertEqual(table.get_attribute("role"), "region")
        self.assertTrue(table.get_attribute("aria-label"))

    def test_headings_and_sections_have_names_for_screen_readers(self):
        self.open("all")
        levels = self.run_script("return [...document.querySelectorAll('h1,h2,h3,h4')].map(one => Number(one.tagName[1]))")
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(below <= above + 1 for above, below in zip(levels, levels[1:])), levels)
        self.assertEqual(self.run_script("""return [...document.querySelectorAll('section, article')].filter(one =>
          !document.getElementById(one.getAttribute('aria-labelledby'))?.textContent).length"""), 0)
        self.assertEqual(self.run_script("return [...document.querySelectorAll('table')].filter(one => !one.caption).length"), 0)
        identifiers = self.run_script("return [...document.querySelectorAll('[id]')].map(one => one.id)")
        self.assertEqual(len(identifiers), len(set(identifiers)))
        self.assertEqual(self.run_script("""return [...document.querySelectorAll('a')].filter(one =>
          !document.getElementById(one.getAttribute('href').slice(1))).length"""), 0)

    def test_without_scripts_all_values_of_charts_are_there(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("fit")
            tables = self.browser.find_elements(By.CSS_SELECTOR, "figure details table")
            self.assertGreater(len(tables), 4)
            self.assertTrue(all(table.is_displayed() for table in tables))
            self.assertFalse(any(plot.is_displayed() for plot in self.browser.find_elements(By.CSS_SELECTOR, ".plot")))
        finally:
            self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_paper_has_dark_text_on_white_and_no_list_of_contents(self):
        self.open("fit", dark=True)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        look = self.run_script("""const style = getComputedStyle(document.documentElement);
          return [style.color, style.backgroundColor, getComputedStyle(document.querySelector('nav')).display]""")
        self.assertEqual(look, ["rgb(0, 0, 0)", "rgb(255, 255, 255)", "none"])
        self.picture("fit-print")
        paper = self.browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
        self.assertTrue(base64.b64decode(paper["data"]).startswith(b"%PDF"))
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
