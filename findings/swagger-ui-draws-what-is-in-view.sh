#!/usr/bin/env bash
# Swagger UI 5.33.0 and later: of a document with some 140 operations or more, the page has only the first few.
#
# Up to 5.32 all operations stand in the page. Since 5.33 a long document is drawn as one scrolls, tag by tag: the
# browser's search finds no operation further down, a printed page lacks them, and whoever waits for one of them to
# appear waits in vain. No option is needed for it and nothing is logged; with few operations all are there as before.
# `docExpansion: "none"` shows all tags at once.
# Output seen: "5.32.15, 150 operations: 150", "5.35.0, 120 operations: 120", "5.35.0, 150 operations: 7".
set -euo pipefail
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 5.32.15 5.35.0; do
  (cd "$folder" && npm pack --silent "swagger-ui-dist@$version" >/dev/null)
  mkdir "$folder/$version"
  tar xzf "$folder/swagger-ui-dist-$version.tgz" -C "$folder/$version" package/swagger-ui-bundle.js
done
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check playwright==1.65.2
cat >"$folder/look.py" <<'PYTHON'
import functools
import http.server
import json
import pathlib
import sys
import threading

from playwright.sync_api import sync_playwright

folder, chromium = pathlib.Path(sys.argv[1]), sys.argv[2]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def document(operations):
    described = {"responses": {"200": {"description": "done"}}}
    paths = {f"/path/{n}": {"get": {"tags": [f"tag {n // 20}"], **described}} for n in range(operations)}
    return {"openapi": "3.1.0", "info": {"title": "long", "version": "1"}, "paths": paths}


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_address[1]}"
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    for version, operations in (("5.32.15", 150), ("5.35.0", 120), ("5.35.0", 150)):
        (folder / "document.json").write_text(json.dumps(document(operations)))
        (folder / "page.html").write_text(
            f'<!doctype html><meta charset="utf-8"><div id="ui"></div>'
            f'<script src="{version}/package/swagger-ui-bundle.js"></script>'
            f'<script>SwaggerUIBundle({{url: "/document.json", dom_id: "#ui"}})</script>'
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(f"{address}/page.html")
        page.locator(".opblock").first.wait_for()
        page.wait_for_timeout(6_000)
        print(f"{version}, {operations} operations: {page.locator('.opblock').count()}")
        page.close()
    browser.close()
PYTHON
"$folder/venv/bin/python" "$folder/look.py" "$folder" "$chromium" | tee "$folder/out"
grep -qx '5.32.15, 150 operations: 150' "$folder/out"
grep -qx '5.35.0, 120 operations: 120' "$folder/out"
grep -qxE '5.35.0, 150 operations: ([0-9]|[1-9][0-9])' "$folder/out"
