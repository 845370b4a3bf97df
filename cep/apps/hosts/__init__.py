"""What all hosts of stream apps share: a run on one partition of a log, the input log, what comes from outside."""
