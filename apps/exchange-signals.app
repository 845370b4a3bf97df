@App:name('exchange-signals')
@App:description('The delay of the prices of each exchange by the minute: its trend, an alert level, and when either changes.')

@PrimaryKey('entity') define table Signals (entity string, signal string, level string, reason string, since long, value double);

from ticks[kind == 'quote' and exchange_time > 0L]#window.timeBatch(1 min)
select exchange, avg((received_time - exchange_time) / 1000.0) as delay_ms, count() as quotes
group by exchange
insert into Delays;

partition with (exchange of Delays)
begin
    from Delays
    select exchange, delay_ms, count() as number
    insert into #Numbered;

    from #Numbered#window.length(30)
    select exchange, delay_ms, number, avg(delay_ms) as usual
    insert into #Usual;

    from #Usual#window.length(7)
    select exchange, delay_ms, number, usual, count() as points, avg(delay_ms) as mean,
        sum(number) as x, sum(number * number) as xx, sum(delay_ms) as y, sum(number * delay_ms) as xy
    insert into #Sums;

    from #Sums
    select exchange, delay_ms, number, usual, mean, (points * xy - x * y) / maximum(points * xx - x * x, 1L) as slope
    insert into #Lines;

    from #Lines
    select exchange, delay_ms, number, usual, slope,
        ifThenElse(number < 3L, 'stable', ifThenElse(slope > 0.1 * mean, 'rising',
            ifThenElse(slope < 0.0 - 0.1 * mean, 'falling', 'stable'))) as trend
    insert into Trends;

    from every a = Trends, b = Trends[trend != a.trend]
    select b.exchange as exchange, a.trend as trend_before, b.trend as trend, b.delay_ms as delay_ms
    insert into DelayAlerts;
end;

from Trends
select exchange, delay_ms, eventTimestamp() as at,
    ifThenElse(number >= 5L and delay_ms > 3.0 * usual, 'warning', ifThenElse(trend == 'rising', 'watch', 'none')) as level,
    ifThenElse(number >= 5L and delay_ms > 3.0 * usual, 'three times its mean over 30 minutes',
        ifThenElse(trend == 'rising', 'rising over its last seven minutes', '')) as reason
insert into Judged;

from Judged as j left outer join Signals as l on j.exchange == l.entity
select j.exchange as entity, 'delay' as signal, j.level as level, j.reason as reason,
    ifThenElse(j.level == default(l.level, ''), l.since, j.at) as since, j.delay_ms as value, default(l.level, 'none') as level_before
insert into Levels;

from Levels[level != level_before]
select entity, signal, level, level_before, reason, since, value
insert into Alerts;

from Levels
select entity, signal, level, reason, since, value
update or insert into Signals set Signals.level = level, Signals.reason = reason, Signals.since = since, Signals.value = value
    on Signals.entity == entity;
