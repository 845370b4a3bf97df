@App:name('unusual-price')
@App:description('A price that is three times the average of the last 50 of its market, or a third of it.')

partition with (exchange of quotes)
begin
    from quotes#window.length(50)
    select exchange, symbol, bid, avg(bid) as mean, count() as n
    group by symbol
    having n >= 10 and (bid > mean * 3.0 or bid < mean / 3.0)
    insert into Unusual;
end;
