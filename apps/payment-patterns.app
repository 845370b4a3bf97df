@App:name('payment-patterns')
@App:description('Duplicate, rapid and unusual payments of one payer: what matched, how sure it is, and what to do.')

define stream Payments (payment string, payer string, amount double);

partition with (payer of Payments)
begin
    from every a = Payments -> b = Payments[amount == a.amount and payment != a.payment] within 10 min
    select 'duplicate' as pattern, b.payer as entity, str:concat(a.payment, ',', b.payment) as events, 0.9 as confidence,
        'hold the second payment' as action, 'found' as result
    insert into Detections;

    from Payments#window.time(1 hour)
    select payer, str:groupConcat(payment) as events, count() as payments
    insert into #LastHour;

    from #LastHour[payments == 5L]
    select 'rapid' as pattern, payer as entity, events, 0.8 as confidence, 'ask the payer' as action, 'found' as result
    insert into Detections;

    from Payments#window.length(30)
    select payment, payer, amount, count() as payments, (sum(amount) - amount) / maximum(count() - 1L, 1L) as usual
    insert into #Usual;

    from #Usual[payments > 5L and amount > 3.0 * usual]
    select 'unusual' as pattern, payer as entity, payment as events, 1.0 - usual / amount as confidence,
        'look at it before it is booked' as action, 'found' as result
    insert into Detections;
end;
