@App:name('three-rejections')
@App:description('Three rejections within a minute halt an exchange: it is paused, or rejects our account.')

define stream Rejections (exchange string, partner string);

-- One of both exchanges is the reason, and a row does not say which: the one that meets others is.
from rejections[number == 0 and (reason == 'exchange_paused' or reason == 'account_rejected')]
select buy_exchange as exchange, sell_exchange as partner
insert into Rejections;

from rejections[number == 0 and (reason == 'exchange_paused' or reason == 'account_rejected')]
select sell_exchange as exchange, buy_exchange as partner
insert into Rejections;

partition with (exchange of Rejections)
begin
    from Rejections#window.time(1 min)
    select exchange, count() as n, distinctCount(partner) as partners
    having n >= 3 and partners >= 2
    output first every 1 min
    insert into Halts;
end;
