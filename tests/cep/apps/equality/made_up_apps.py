"""Apps of several streams, written for the comparison of hosts; those by key fit the structured host too."""

from tests.cep.apps.hosts.quote_app import QUOTE_APP

KAFKA = "@source(type='kafka', bootstrap.servers='kafka.example.com:9092', topic.list='app-{name}', @map(type='json')) "
"""Before the definition of a stream that no product stream feeds."""

JOINED = """@App:name('joined')
from opportunities#window.length(3) as o join quotes#window.time(1 sec) as q
on o.base == q.base and o.buy_exchange == q.exchange
select o.opportunity_id as opportunity_id, q.bid as bid, o.net_bps as net_bps insert into Met;
from not quotes for 2 sec select 'silent' as what insert into Silent;
"""
TAKEN = """@App:name('taken')
from every o = opportunities -> t = trades[arbitrage_id == o.opportunity_id] within 5 sec
select t.arbitrage_id as id, t.state as state, o.net_bps as net_bps insert into Taken;
from every o = opportunities -> not trades[arbitrage_id == o.opportunity_id] for 2 sec
select o.opportunity_id as id insert into Missed;
from every e1 = trades, e2 = trades[state != e1.state]+ select e1.state as a, e2[last].state as b insert into Changed;
"""
BOOKED = """@App:name('booked')
from fills select exchange, side, sum(amount) as amount, avg(price) as price group by exchange, side insert into Filled;
from rejections[number == 0] select reason, count() as n group by reason output last every 4 events insert into Refused;
from fills#window.lengthBatch(6) select exchange, max(price) as top, stdDev(price) as deviation insert into Batches;
"""
WATCHED = """@App:name('watched')
from spreads#window.sort(5, mean_bps, 'desc') select base, max(mean_bps) as best, count() as n insert into Best;
from health#window.session(1 sec) select count() as n insert all events into Sessions;
from spreads as s left outer join health#window.length(1) as h on s.rows > h.batch_rows
select s.base as base, s.rows as n, h.query as query insert into Beside;
from spreads select base, avg(max_bps) as bps group by base output snapshot every 1 sec insert into Snapshots;
"""
EXCHANGES = "@App:name('exchanges')\n" + QUOTE_APP.partition("\n")[2]
HELD = """@App:name('held')
@PrimaryKey('exchange') define table Held (exchange string, amount double);
define window Recent (exchange string, price double) length(4) output all events;
from fills select exchange, sum(amount) as amount group by exchange
update or insert into Held set Held.amount = amount on Held.exchange == exchange;
from opportunities as o join Held as h on o.sell_exchange == h.exchange
select o.opportunity_id as id, h.exchange as exchange, h.amount as amount insert into Covered;
from fills select exchange, price insert into Recent;
from Recent select exchange, avg(price) as mean insert into RecentMeans;
"""
KEPT_ROWS = """@App:name('kept-rows')
from quotes#window.hopping(2 sec, 700 milliseconds)
select base, count() as n, math:percentile(bid, 75) as high group by base insert into Hops;
from fills#reorder:kslack(filled_at, 5 sec, 20L) select exchange, filled_at, count() as n insert into Ordered;
from opportunities#unique:deduplicate(opportunity_id, 3 sec)
select opportunity_id as id, count() as n insert into Once;
from fills#window.length(4) select list:collect(side) as sides, str:groupConcat(exchange, '-', true) as exchanges,
math:percentile(price, 50) as middle insert into Collected;
from every o = opportunities -> (t = trades[arbitrage_id == o.opportunity_id] within 4 sec)
select o.opportunity_id as id, t.state as state insert into Soon;
from every o = opportunities -> (q = quotes[exchange == o.buy_exchange]<2:3> within 1 sec) -> s = spreads
select o.opportunity_id as id, q[0].bid as first_bid, s.rows as n insert into Quick;
"""
HEARD = """@App:name('heard')
@App:processor('heard.Heard', events = 'quotes, fills', emits = 'Told, Again')
define stream Told (exchange string, what string, quotes int);
define stream Again (exchange string, by string, chance double);
"""
OTHERS = (HEARD, JOINED, TAKEN, BOOKED, WATCHED, EXCHANGES, HELD, KEPT_ROWS)

BY_BASE = """@App:name('by-base') @App:host('structured')
partition with (base of quotes, base of opportunities, base of spreads) begin
    from quotes#window.time(500 milliseconds)
    select base, exchange, avg(bid) as bid, count() as n group by exchange insert into Means;
    from opportunities#window.length(2) as o join quotes#window.length(3) as q on o.buy_exchange == q.exchange
    select o.base as base, o.opportunity_id as id, q.bid as bid insert into Met;
    from every o = opportunities -> s = spreads[max_bps > o.net_bps] within 3 sec
    select o.base as base, o.opportunity_id as id, s.max_bps as bps insert into Widened;
end;
from Means[n > 2] select base, exchange, bid insert into Busy;
"""
BY_EXCHANGE = """@App:name('by-exchange') @App:host('structured')
partition with (exchange of ticks) begin
    from every a = ticks[kind == 'quote'] -> b = ticks[kind == 'withdrawn' and symbol == a.symbol] within 1 sec
    select a.exchange as exchange, a.symbol as symbol, b.received_time - a.received_time as lasted insert into Gone;
    from ticks[kind == 'quote'] select exchange, symbol, bid insert into #Bids;
    from #Bids#window.lengthBatch(5)
    select exchange, symbol, sum(bid) as total, stdDev(bid) as deviation insert into Batches;
    from e1 = #Bids, e2 = #Bids[bid > e1.bid]+, e3 = #Bids[bid < e2[last].bid]
    select e1.exchange as exchange, e2[last].bid as top, currentTimeMillis() as at insert into Tops;
end;
"""
BY_CUSTOMER = """@App:name('by-customer') @App:host('structured')
define stream Purchases (customer string, amount double);
define stream Clicks (customer string, offer string);
partition with (customer of Purchases, customer of Clicks) begin
    from Purchases#window.length(4) select customer, sum(amount) as total, distinctCount(amount) as kinds
    output last every 3 events insert into Totals;
    from every p = Purchases -> c = Clicks<2:4> -> q = Purchases[amount > p.amount]
    select p.customer as customer, c[0].offer as first_offer, q.amount as amount insert into Persuaded;
end;
partition with (total < 395.0 as 'low' or total >= 395.0 as 'high' of Totals) begin
    from Totals#window.timeLength(5 sec, 3)
    select customer, total, count() as n, min(total) as least insert into Ranges;
end;
"""
BY_SIDE = """@App:name('by-side') @App:host('structured')
from fills[amount > 95.5] select exchange, side, price, amount, filled_at insert into Large;
partition with (side of Large, reason of rejections) begin
    from Large#window.externalTime(filled_at, 2000 sec) select exchange, side, avg(price) as mean, count() as n
    group by exchange having n > 1 insert into Means;
    from Large#window.unique:length(exchange, 3) select side, sum(amount) as amount insert into Latest;
    from rejections#window.length(3) select reason, max(net_bps) as most, count() as n
    output first every 2 events insert into Refused;
end;
"""
BY_SYMBOL = """@App:name('by-symbol') @App:host('structured')
partition with (exchange of ticks) begin
    from ticks#unique:deduplicate(symbol, 500 milliseconds) select exchange, symbol, count() as n insert into Once;
    from ticks#window.length(4) select exchange, list:collect(kind) as kinds,
    str:groupConcat(symbol, '-', true, 'desc') as symbols, math:percentile(bid, 50) as middle insert into Collected;
    from every a = ticks[kind == 'quote'] -> (b = ticks[bid > a.bid]<1:3> within 300 milliseconds)
    select a.exchange as exchange, a.bid as bid, b[last].bid as higher insert into Rises;
end;
"""
BY_KEY = (BY_BASE, BY_EXCHANGE, BY_CUSTOMER, BY_SIDE, BY_SYMBOL)
"""All of them ask for the structured host; the others run them as well."""
