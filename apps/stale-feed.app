@App:name('stale-feed')
@App:description('A market that had prices has had none for 3 seconds.')

partition with (exchange of quotes)
begin
    from every last = quotes -> not quotes[symbol == last.symbol] for 3 sec
    select last.exchange as exchange, last.symbol as symbol, last.bid as last_bid, last.received_time as last_seen
    insert into Stale;
end;
