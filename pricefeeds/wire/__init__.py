"""The exchanges' own order-book streams: frames in, books out. Pure: no sockets, no clock, no ccxt."""
