@App:name('moving-average')
@App:description('The best ask of a market crosses the average of its last 10: upwards BUY, downwards SELL.')

partition with (str:concat(exchange, ' ', symbol) of quotes)
begin
    from quotes#window.length(10)
    select exchange, symbol, ask as close, avg(ask) as mean
    insert into #Means;

    from every before = #Means[close < mean], after = #Means[close > mean]
    select after.exchange as exchange, after.symbol as symbol, 'BUY' as side, after.close as price, after.mean as mean
    insert into Signals;

    from every before = #Means[close > mean], after = #Means[close < mean]
    select after.exchange as exchange, after.symbol as symbol, 'SELL' as side, after.close as price, after.mean as mean
    insert into Signals;
end;
