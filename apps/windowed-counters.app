@App:name('windowed-counters')
@App:description('Number, sum, mean, least and greatest of each entity: by the hour, over the last hour, and by session.')

define stream Events (entity string, value double);

from Events#window.timeBatch(1 hour)
select 'tumbling' as kind, entity, count() as events, sum(value) as total, avg(value) as mean, min(value) as least, max(value) as greatest
group by entity
insert into Counters;

from Events#window.time(1 hour)
select 'sliding' as kind, entity, count() as events, sum(value) as total, avg(value) as mean, min(value) as least, max(value) as greatest
group by entity
insert into Counters;

partition with (entity of Events)
begin
    from Events#window.session(30 min, entity)
    select 'session' as kind, entity, count() as events, sum(value) as total, avg(value) as mean, min(value) as least, max(value) as greatest
    insert into Counters;
end;
