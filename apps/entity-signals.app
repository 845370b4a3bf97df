@App:name('entity-signals')
@App:description('Each entity: its measure now, over 7 and 30 days, change and trend, and an alert level with reason and since.')

define stream Measurements (entity string, value double);

@PrimaryKey('entity') define table Signals (entity string, signal string, level string, reason string, since long, value double);

@sink(type = 'log', prefix = 'METRICS')
define stream Metrics (entity string, value double, count_7d long, average_7d double, average_30d double, change double,
    slope double, trend string, level string, reason string, since long, level_before string);

@sink(type = 'log', prefix = 'ALERT')
define stream Alerts (entity string, level string, level_before string, reason string, since long, value double);

partition with (entity of Measurements)
begin
    from Measurements#window.time(7 days)
    select entity, value, count() as count_7d, avg(value) as average_7d
    insert into #Week;

    from #Week#window.time(30 days)
    select entity, value, count_7d, average_7d, avg(value) as average_30d
    insert into #Month;

    from #Month
    select entity, value, count_7d, average_7d, average_30d, count() as number
    insert into #Numbered;

    from #Numbered#window.length(2)
    select entity, value, count_7d, average_7d, average_30d, number,
        ifThenElse(count() > 1L, 2.0 * value - sum(value), 0.0) as change
    insert into #Changed;

    -- least squares over the last seven points: the number of each is its place on the line
    from #Changed#window.length(7)
    select entity, value, count_7d, average_7d, average_30d, change, number, count() as points, avg(value) as mean,
        sum(number) as x, sum(number * number) as xx, sum(value) as y, sum(number * value) as xy
    insert into #Sums;

    from #Sums
    select entity, value, count_7d, average_7d, average_30d, change, number, mean,
        (points * xy - x * y) / maximum(points * xx - x * x, 1L) as slope
    insert into Lines;
end;

from Lines
select entity, value, count_7d, average_7d, average_30d, change, number, slope,
    ifThenElse(number < 3L, 'stable', ifThenElse(slope > 0.02 * mean, 'rising',
        ifThenElse(slope < 0.0 - 0.02 * mean, 'declining', 'stable'))) as trend
insert into Trends;

from Trends
select entity, value, count_7d, average_7d, average_30d, change, slope, trend,
    ifThenElse(number >= 5L and value < 0.4 * average_30d, 'critical',
        ifThenElse(number >= 5L and value < 0.7 * average_30d, 'warning',
        ifThenElse(trend == 'declining', 'watch', 'none'))) as level,
    ifThenElse(number >= 5L and value < 0.4 * average_30d, 'below 40 % of its average over 30 days',
        ifThenElse(number >= 5L and value < 0.7 * average_30d, 'below 70 % of its average over 30 days',
        ifThenElse(trend == 'declining', 'declining over its last seven points', ''))) as reason,
    eventTimestamp() as at
insert into Judged;

from Judged as j left outer join Signals as l on j.entity == l.entity
select j.entity as entity, j.value as value, j.count_7d as count_7d, j.average_7d as average_7d, j.average_30d as average_30d,
    j.change as change, j.slope as slope, j.trend as trend, j.level as level, j.reason as reason,
    ifThenElse(j.level == default(l.level, ''), l.since, j.at) as since, default(l.level, 'none') as level_before
insert into Metrics;

from Metrics[level != level_before]
select entity, level, level_before, reason, since, value
insert into Alerts;

from Metrics
select entity, 'measure' as signal, level, reason, since, value
update or insert into Signals set Signals.level = level, Signals.reason = reason, Signals.since = since, Signals.value = value
    on Signals.entity == entity;
