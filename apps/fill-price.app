@App:name('fill-price')
@App:description('Each fill beside the best prices of its market at that moment: by how much its price was worse.')

@PrimaryKey('exchange', 'symbol')
define table Best (exchange string, symbol string, bid double, ask double);

from quotes
select exchange, symbol, bid, ask
update or insert into Best
on Best.exchange == exchange and Best.symbol == symbol;

from fills as f join Best as b
on b.exchange == f.exchange and b.symbol == f.symbol
select f.arbitrage_id as arbitrage_id, f.exchange as exchange, f.symbol as symbol, f.side as side, f.price as price,
    ifThenElse(f.side == 'buy', f.price - b.ask, b.bid - f.price) as worse_by
insert into FillPrices;
