"""What heads of columns and names of figures mean, shown when one points at them; the glossary has the other words."""

from collections.abc import Mapping

DEFINITIONS: Mapping[str, str] = {
    "Net": "What is left after fees of both legs, FX and unwinding, in the settlement currency.",
    "Net P&L": "What is left after fees of both legs, FX and unwinding, in the settlement currency.",
    "Net bps": "Net per amount bought, × 10,000.",
    "Gross bps": "Best bid above best ask at today's rates, before fees, × 10,000.",
    "Best bps": "The widest spread after fees and FX that was seen in the episode.",
    "Best profit": "The most that the books offered at once within the limits, after fees.",
    "Theoretical gross": "At the best prices seen and FX mid, before anything was lost.",
    "Latency decay": "How far prices moved from detection to each leg's best fill; below 0 it cost money.",
    "Slippage": "From each leg's best fill to all of them: the depth of the book that was walked.",
    "Fees": "Of the exchanges, for all fills; below 0 they cost money.",
    "FX": "From the mid of the exchange rate to the side that was paid.",
    "Unwinding": "What completing, reversing or flattening a single leg cost or earned.",
    "Missed profit": "What rejected or undecided opportunities could have made, once per episode.",
    "Win rate": "Share of traded arbitrages with a net above 0.",
    "Max drawdown": "The largest fall of equity from an earlier high.",
    "Current drawdown": "How far equity is below its highest value.",
    "Sharpe": "Mean daily result by its deviation, for a year; whole UTC days.",
    "Sortino": "As Sharpe, by the deviation of losing days alone.",
    "Calmar": "Result of a year at this pace, by the largest drawdown.",
    "Profit factor": "All that was won by all that was lost.",
    "Expectancy": "Mean net of an arbitrage that won or lost.",
    "Seen": "Opportunities of the episode: one for each row of the log with a spread wide enough.",
    "Lasted": "From the first to the last opportunity of the episode.",
    "Tick to filled": "From the tick's arrival to the last fill.",
    "Drift": "How far the balance is from its target.",
    "Kafka lag": "Rows of a topic that its slowest reader has not read yet.",
    "Change stream lag": "How late news of the store arrive.",
    "Detection delay": "How long the newest probe row took through detection.",
}
