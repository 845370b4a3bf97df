#!/usr/bin/env bash
# pyarrow 26.0.1 beside pandas 2.3.3: the first pyarrow.array() of a plain list imports all of pandas.
# pyarrow looks whether what it was given is an object of pandas, and imports pandas to know. A program that never uses
# pandas pays for its import (about half a second of CPU) at its first array, only because it is installed.
# Expected output: pandas after "import pyarrow": False; after one array of a list: True
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install pyarrow==26.0.1 pandas==2.3.3 numpy
"$folder/venv/bin/python" - <<'PY'
import sys

import pyarrow as pa

before = "pandas" in sys.modules
pa.array([1, 2, 3])
after = "pandas" in sys.modules
print(f'pandas after "import pyarrow": {before}; after one array of a list: {after}')
assert (before, after) == (False, True)
PY
