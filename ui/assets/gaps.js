// A line is drawn through received prices and nowhere else.

// Quiet markets confirm their price every few seconds at least; after this long it is unknown.
const GAP_SECONDS = 10;

// columns: times in seconds and as many columns of values; a null marks too long a silence
export function withGaps(columns, longest = GAP_SECONDS) {
  const [times] = columns;
  const gaps = [];
  for (let i = 1; i < times.length; i += 1) if (times[i] - times[i - 1] > longest) gaps.push(i);
  if (!gaps.length) return columns;
  return columns.map((column, which) => {
    const drawn = [];
    let from = 0;
    for (const at of gaps) {
      drawn.push(...column.slice(from, at), which === 0 ? (times[at - 1] + times[at]) / 2 : null);
      from = at;
    }
    return [...drawn, ...column.slice(from)];
  });
}
