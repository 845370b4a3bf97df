"""The network between regions: a namespace each, and a carrier of packets with delays, losses and cuts."""
