@App:name('regional-average')
@App:description('The mean price of each market over 10 seconds, computed once: in the region of its exchange.')

-- Each region has the quotes of all regions. What is in none of the others is in us, so no quote is in two or in none.
from quotes
select exchange, symbol, (bid + ask) / 2 as price,
    ifThenElse(exchange == 'bitstamp', 'eu',
        ifThenElse(exchange == 'bitflyer', 'jp', ifThenElse(exchange == 'okx', 'hk',
            ifThenElse(exchange == 'binance' or exchange == 'bybit', 'sg', 'us')))) as region
insert into Placed;

from Placed[region == context:getVar('region')]#window.time(10 sec)
select region, exchange, symbol, avg(price) as mean, count() as prices
group by exchange, symbol
output last every 5 sec
insert into Averages;
