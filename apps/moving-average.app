@App:name('moving-average')
@App:description('The price of a market crosses the mean of its last 10 closes: upwards BUY, downwards SELL.')

-- The bots of a session write their closes here themselves, one a period (docs/strategies.md).
define stream Closes (exchange string, symbol string, price decimal);
define stream Means (exchange string, symbol string, price decimal, mean decimal, closes long, side int);

from quotes
select exchange, symbol, (convert(bid, 'decimal') + convert(ask, 'decimal')) / 2 as price
group by exchange, symbol
output last every 5 sec
insert into Closes;

partition with (str:concat(exchange, ' ', symbol) of Closes, str:concat(exchange, ' ', symbol) of Means)
begin
    -- a mean is rounded where it is divided, and a price that stands still would cross it: multiplied it is exact
    from Closes#window.length(10)
    select exchange, symbol, price, sum(price) / count() as mean, count() as closes,
        ifThenElse(price * count() > sum(price), 1, ifThenElse(price * count() < sum(price), -1, 0)) as side
    insert into Means;

    from every before = Means[side == -1], after = Means[side == 1]
    select after.exchange as exchange, after.symbol as symbol, 'BUY' as side, after.price as price, after.mean as mean
    insert into Signals;

    from every before = Means[side == 1], after = Means[side == -1]
    select after.exchange as exchange, after.symbol as symbol, 'SELL' as side, after.price as price, after.mean as mean
    insert into Signals;
end;
