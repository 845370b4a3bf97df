"""The feeder: connections, time-outs, checks by REST, rows out."""
