@App:name('bars')
@App:description('Per asset and exchange, from seconds to years; the last minute is given every minute.')

define trigger Minute at every 1 min;

define aggregation Bars
from quotes
select exchange, base, quote_currency, min(bid) as low, max(bid) as high, avg(bid) as mean, bid as close, count() as n
group by exchange, base, quote_currency
aggregate every sec ... year;

from Minute as m join Bars as b within m.triggered_time - 60000L, m.triggered_time per 'minutes'
select b.AGG_TIMESTAMP as start, b.exchange as exchange, b.base as base, b.low as low, b.high as high, b.mean as mean,
    b.close as close, b.n as n
insert into MinuteBars;
