"""Headless browsers for the tests of pages: Chromium by its DevTools protocol, Firefox by WebDriver BiDi, both over a small WebSocket
client, so that nothing but Python and a browser is needed.

    with browser.Browser("chromium", (1000, 900)) as b:
        b.open(path); b.evaluate("document.title"); b.click(x, y); b.screenshot("a.png"); b.errors

without_network() puts the process, and the browsers it starts, into a network of its own with nothing but the loopback device.
"""
import base64
import ctypes
import fcntl
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

NAMES = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "firefox": ("firefox-esr", "firefox")}
LONGEST = 90  # seconds for an answer: software rendering on a busy machine


def find(name):
    """The browser's program, or None."""
    return next(filter(None, map(shutil.which, NAMES[name])), None)


def find_display():
    """Xvfb, a display without a screen: headless Firefox has no WebGL, but Firefox on Xvfb has. Or None."""
    return shutil.which("Xvfb")


def without_network():
    """Whether this process now is in a network of its own."""
    new_user, new_net, up = 0x10000000, 0x40000000, 1
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(new_net) != 0 and libc.unshare(new_user | new_net) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh", b"lo", up)
        fcntl.ioctl(control, 0x8914, request)  # SIOCSIFFLAGS
    return True


def need(browsers, offline, missing=None):
    """Skips the test without `browsers`, or for want of what is `missing`; says if they can reach a network."""
    import program  # tests have it; page_pictures.py, which takes other arguments, does not
    if missing or not browsers:
        raise program.Skip(missing or "no chromium and no firefox")
    if not offline:
        program.skip_part("no network of its own: the browsers could reach others")


def readout(b):
    """{name: text} of what the page says of the place under the pointer."""
    return b.evaluate("Object.fromEntries([...document.querySelectorAll('#readout dt')].map(e => [e.textContent, "
                      "e.nextSibling.textContent]))")


class Socket:
    """The client of a WebSocket (RFC 6455) on this machine: texts only."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
        key = base64.b64encode(bytes(range(16))).decode()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.rest = b""
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._receive(1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def _receive(self, count):
        while len(self.rest) < count:
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the browser has closed the connection")
            self.rest += more
        out, self.rest = self.rest[:count], self.rest[count:]
        return out

    def send(self, text):
        data = text.encode()
        size = len(data)
        head = bytes([0x81]) + (bytes([0x80 | size]) if size < 126 else struct.pack(">BH", 0xFE, size) if size < 65536
                                else struct.pack(">BQ", 0xFF, size))
        mask = b"\x5a\x13\x77\x2e"  # Firefox refuses zeros
        self.socket.sendall(head + mask + bytes(c ^ mask[i & 3] for i, c in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, size = self._receive(2)
            size &= 127
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self._receive(2 if size == 126 else 8))[0]
            data = self._receive(size)
            if first & 15 in (0, 1):
                text += data
                if first & 0x80:
                    return text.decode()


class PageLeft(RuntimeError):
    """The page went away while it was asked something, since a link leads to another one."""


class Browser:
    """One window of a browser. on_display: on Xvfb, not headless."""

    def __init__(self, name, size=(1200, 900), on_display=False):
        self.display = None
        self.name, self.size, self.number, self.errors, self.context = name, size, 0, [], None
        self.folder = tempfile.mkdtemp(prefix="voxfield-browser-")
        width, height = size
        if name == "chromium":
            words = [find(name), "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu-sandbox", "--use-gl=angle",
                     "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--disable-component-update", f"--window-size={width},{height}",
                     "--remote-debugging-port=0", f"--user-data-dir={self.folder}", "about:blank"]
        else:
            pathlib.Path(self.folder, "user.js").write_text(
                'user_pref("webgl.force-enabled", true);\nuser_pref("webgl.disable-fail-if-major-performance-caveat", true);\n'
                'user_pref("app.update.enabled", false);\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
                'user_pref("toolkit.telemetry.enabled", false);\n')
            words = [find(name), "--headless", "--no-remote", f"--width={width}", f"--height={height}",
                     "--remote-debugging-port=0", "--profile", self.folder, "about:blank"]
        shown = self._start_display() if on_display else {}
        if on_display:
            words.remove("--headless")
        environment = {**os.environ, **shown, "HOME": self.folder, "MOZ_HEADLESS_WIDTH": str(width), "MOZ_HEADLESS_HEIGHT": str(height),
                       "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=environment, text=True, start_new_session=True)
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: the browser and what it started
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.display:
            self.display.kill()
            self.display.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_display(self):
        read, write = os.pipe()
        self.display = subprocess.Popen([find_display(), "-displayfd", str(write), "-screen", "0", "1400x1100x24", "-nolisten", "tcp"],
                                        pass_fds=(write,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:
            return {"DISPLAY": ":" + number.readline().strip()}

    def _connect(self):
        pattern = re.compile(r"listening on ws://127\.0\.0\.1:(\d+)(\S*)")
        for line in self.process.stderr:
            if found := pattern.search(line):
                break
        else:
            raise ConnectionError(f"{self.name} does not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        port = int(found[1])
        if self.name == "chromium":
            ask = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
            ask.request("GET", "/json/list")
            pages = [p for p in json.loads(ask.getresponse().read()) if p["type"] == "page"]
            self.socket = Socket(port, re.sub(r"^ws://[^/]*", "", pages[0]["webSocketDebuggerUrl"]))
            for domain in ("Runtime", "Log", "Page"):
                self.call(domain + ".enable")
            self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1], deviceScaleFactor=1,
                      mobile=False)
        else:
            self.socket = Socket(port, "/session")
            self.call("session.new", capabilities={})
            self.call("session.subscribe", events=["log.entryAdded"])
            self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
            self.call("browsingContext.setViewport", context=self.context,
                      viewport={"width": self.size[0], "height": self.size[1]})

    def _note(self, event):
        """Keeps errors of the page."""
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"])[:400])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(about["args"])[:400])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        elif method == "log.entryAdded" and about["level"] in ("error", "warn"):
            self.errors.append(str(about.get("text")))

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") != self.number:
                self._note(answer)
                continue
            if "error" in answer:
                left = any(words in json.dumps(answer) for words in ("navigated or closed", "context was destroyed", "Cannot find context"))
                raise (PageLeft if left else RuntimeError)(f"{method}: {json.dumps(answer)[:400]}")
            return answer["result"]

    def open(self, path, ready="document.body.dataset.ready === 'yes'"):
        """Opens a file and waits for the page's views."""
        url = pathlib.Path(path).resolve().as_uri()
        if self.name == "chromium":
            self.call("Page.navigate", url=url)
        else:
            self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")
        self.wait(f"document.readyState === 'complete' && document.body && {ready}")

    def wait(self, condition):
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            try:
                if self.evaluate(condition):
                    return
            except PageLeft:
                pass  # the next page is on its way
            time.sleep(0.05)
        raise AssertionError(f"{self.name}: never became true: {condition}; the page says "
                             f"{self.evaluate('document.getElementById(`message`)?.textContent')!r}, errors {self.errors}")

    def evaluate(self, script):
        """The value of an expression, which JSON can hold."""
        text = f"JSON.stringify(({script}) ?? null)"
        if self.name == "chromium":
            found = self.call("Runtime.evaluate", expression=text, awaitPromise=True)
            if "exceptionDetails" in found:
                raise AssertionError(json.dumps(found["exceptionDetails"])[:600])
            return json.loads(found["result"]["value"])
        found = self.call("script.evaluate", expression=text, awaitPromise=True, target={"context": self.context})
        if found["type"] != "success":
            raise AssertionError(json.dumps(found)[:600])
        return json.loads(found["result"]["value"])

    def dark(self):
        """The system prefers dark pages from now on. Chromium only."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def unnamed(self):
        """Controls without a name for a screen reader."""
        return self.evaluate("[...document.querySelectorAll('button, input, select, canvas[tabindex]')].filter(e => !(e.textContent || "
                             "e.getAttribute('aria-label') || e.closest('label')?.textContent)).map(e => e.outerHTML)")

    def resize(self, width, height):
        if self.name == "chromium":
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        else:
            self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def screenshot(self, path):
        if self.name == "chromium":
            data = self.call("Page.captureScreenshot", format="png")["data"]
        else:
            data = self.call("browsingContext.captureScreenshot", context=self.context)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    # ---- hands ----

    def _pointer(self, *steps):
        """Steps: ("move", x, y), ("down", button), ("up", button)."""
        if self.name == "firefox":
            kinds = {"move": lambda s: {"type": "pointerMove", "x": int(s[1]), "y": int(s[2])},
                     "down": lambda s: {"type": "pointerDown", "button": s[1]}, "up": lambda s: {"type": "pointerUp", "button": s[1]}}
            self.call("input.performActions", context=self.context, actions=[
                {"type": "pointer", "id": "mouse", "actions": [kinds[s[0]](s) for s in steps]}])
            return
        at, held = (0, 0), None
        names = {0: "left", 1: "middle", 2: "right"}
        for step in steps:
            if step[0] == "move":
                at = step[1:]
            else:
                held = step[1] if step[0] == "down" else None
            kind = {"move": "mouseMoved", "down": "mousePressed", "up": "mouseReleased"}[step[0]]
            button = step[1] if step[0] != "move" else held
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="none" if button is None else names[button],
                      buttons={None: 0, 0: 1, 1: 4, 2: 2}[held], clickCount=0 if step[0] == "move" else 1)

    def move(self, x, y):
        self._pointer(("move", x, y))

    def click(self, x, y):
        self._pointer(("move", x, y), ("down", 0), ("up", 0))

    def drag(self, x, y, dx, dy, button=0):
        self._pointer(("move", x, y), ("down", button), ("move", x + dx / 2, y + dy / 2), ("move", x + dx, y + dy), ("up", button))

    def wheel(self, x, y, dy):
        if self.name == "chromium":
            self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=dy)
        else:
            self.call("input.performActions", context=self.context, actions=[{"type": "wheel", "id": "wheel", "actions": [
                {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": int(dy)}]}])

    def key(self, key):
        """One letter, or a name such as ArrowUp."""
        if self.name == "chromium":
            for kind in ("keyDown", "keyUp"):
                text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
                self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)
            return
        codes = {"ArrowUp": "\ue013", "ArrowDown": "\ue015", "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Tab": "\ue004"}
        value = codes.get(key, key)
        self.call("input.performActions", context=self.context, actions=[
            {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}])

    def box(self, selector):
        """[left, top, width, height] of an element in the window; it is scrolled into view."""
        return self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}}); "
                             "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")


def pixels(path):
    """A PNG of 8 bits, without interlacing, as numpy's [row][column][red, green, blue]."""
    import zlib

    import numpy
    data = pathlib.Path(path).read_bytes()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and interlace == 0 and color in (2, 6), "another kind of PNG"
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    channels = 4 if color == 6 else 3
    raw = numpy.frombuffer(zlib.decompress(packed), dtype=numpy.uint8).reshape(height, 1 + width * channels)
    out = numpy.zeros((height, width * channels), dtype=numpy.uint8)
    for row in range(height):
        kind, line = raw[row, 0], raw[row, 1:].astype(int)
        above = out[row - 1].astype(int) if row else numpy.zeros(width * channels, dtype=int)
        if kind == 2:
            line = line + above
        elif kind == 1:
            line = numpy.cumsum(line.reshape(width, channels), axis=0).ravel()
        elif kind in (3, 4):
            found = [0] * (width * channels)
            for i in range(width * channels):
                left = found[i - channels] if i >= channels else 0
                up, corner = int(above[i]), int(above[i - channels]) if i >= channels else 0
                if kind == 3:
                    found[i] = (int(line[i]) + (left + up) // 2) & 255
                    continue
                guess = left + up - corner
                near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
                found[i] = (int(line[i]) + (left, up, corner)[near.index(min(near))]) & 255
            line = numpy.array(found)
        out[row] = line & 255
    return out.reshape(height, width, channels)[:, :, :3]
