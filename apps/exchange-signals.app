@App:name('exchange-signals')
@App:description('The delay of the prices of each exchange by the minute, its trend over seven minutes, and when it rises or falls.')

from ticks[kind == 'quote' and exchange_time > 0L]#window.timeBatch(1 min)
select exchange, avg((received_time - exchange_time) / 1000.0) as delay_ms, count() as quotes
group by exchange
insert into Delays;

partition with (exchange of Delays)
begin
    from Delays
    select exchange, delay_ms, quotes, count() as number
    insert into #Numbered;

    from #Numbered#window.length(7)
    select exchange, delay_ms, quotes, number, count() as points, avg(delay_ms) as mean,
        sum(number) as x, sum(number * number) as xx, sum(delay_ms) as y, sum(number * delay_ms) as xy
    insert into #Sums;

    from #Sums
    select exchange, delay_ms, quotes, number, mean, (points * xy - x * y) / maximum(points * xx - x * x, 1L) as slope
    insert into #Lines;

    from #Lines
    select exchange, delay_ms, quotes, slope,
        ifThenElse(number < 3L, 'stable', ifThenElse(slope > 0.1 * mean, 'rising',
            ifThenElse(slope < 0.0 - 0.1 * mean, 'falling', 'stable'))) as trend
    insert into Trends;

    from every a = Trends, b = Trends[trend != a.trend]
    select b.exchange as exchange, a.trend as trend_before, b.trend as trend, b.delay_ms as delay_ms
    insert into DelayAlerts;
end;
