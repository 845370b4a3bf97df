"""One trade from its reservation to its end: state machine, legs, leases, and the record of each decision. Pure."""
