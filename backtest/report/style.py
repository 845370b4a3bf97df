"""The style of a backtest's report: light and dark, on a telephone and on a wide screen, self-contained."""

CSS = """
:root {
  color-scheme: light dark;
  --paper: #fbfbfa; --card: #ffffff; --ink: #1d2227; --faint: #68727c; --rule: #e2e5e8;
  --line: #2463a8; --good: #1c7c4c; --bad: #b53a32; --warn: #96650a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e6e9ec; --faint: #98a2ac; --rule: #30363c;
    --line: #6aa8ec; --good: #4fbf86; --bad: #ec7a70; --warn: #e0b04c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .75rem; }
p { margin: .25rem 0 .75rem; max-width: 75ch; }
.faint { color: var(--faint); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.figure, .chart { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: .75rem .9rem; }
.figure b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.figure span { color: var(--faint); font-size: .85rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 345px), 1fr)); gap: .75rem; }
.chart { margin: 0; min-width: 0; }
.chart figcaption { font-weight: 600; margin-bottom: .25rem; }
.chart svg { display: block; width: 100%; height: auto; }
.chart svg text { font-family: inherit; }
.scroll {
  overflow: auto; max-height: 36rem; width: fit-content; max-width: 100%;
  border: 1px solid var(--rule); border-radius: 8px; background: var(--card);
}
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .7rem; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--rule); }
tr:last-child td { border-bottom: 0; }
th { color: var(--faint); font-weight: 600; position: sticky; top: 0; background: var(--card); }
td.number, th.number { text-align: right; }
.good { color: var(--good); } .bad { color: var(--bad); }
.alarm { border: 1px solid var(--bad); border-radius: 8px; padding: .6rem .9rem; color: var(--bad); font-weight: 600; }
.notice { border: 1px solid var(--warn); border-left-width: 4px; border-radius: 8px; padding: .6rem .9rem; }
.notice b { color: var(--warn); }
tr.sum td { font-weight: 600; border-top: 1px solid var(--faint); }
details { margin: .4rem 0; }
summary { cursor: pointer; padding: .3rem 0; color: var(--line); font-variant-numeric: tabular-nums; }
ul { margin: 0; padding-left: 1.2rem; } li { margin: .2rem 0; max-width: 85ch; overflow-wrap: anywhere; }
pre {
  margin: 0; padding: .75rem .9rem; background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: .85rem/1.5 ui-monospace, Menlo, Consolas, monospace;
}
@media print { body { background: none; } .scroll { overflow: visible; max-height: none; } }
"""
