@App:name('spread-widening')
@App:description('The best spread of a market grew by half, twice in a row, from one 5 seconds to the next.')

from quotes#window.timeBatch(5 sec)
select exchange, symbol, avg((ask - bid) / bid * 10000.0) as bps
group by exchange, symbol
insert into Means;

partition with (exchange of Means)
begin
    from every a = Means -> b = Means[symbol == a.symbol and bps > a.bps * 1.5]
        -> c = Means[symbol == a.symbol and bps > b.bps * 1.5] within 12 sec
    select a.exchange as exchange, a.symbol as symbol, a.bps as first_bps, b.bps as second_bps, c.bps as third_bps
    insert into Widening;
end;
