"""The first rows of a file of quotes as Tardis writes them."""

HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
TIME = 1_723_161_254_087_891
