@App:name('three-rejections')
@App:description('An exchange that rejects three orders within a minute is halted, once until it is released.')

define stream Rejections (exchange string, reason string);
define stream Releases (exchange string);
@PrimaryKey('exchange') define table Halted (exchange string, since long);

from Releases delete Halted on Halted.exchange == exchange;

partition with (exchange of Rejections)
begin
    from Rejections#window.time(1 min)
    select exchange, count() as n
    having n >= 3
    insert into #Many;

    from #Many[not (Halted.exchange == exchange in Halted)]
    select exchange, eventTimestamp() as since
    insert into Halts;
end;

from Halts select exchange, since insert into Halted;
