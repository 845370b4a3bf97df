@App:name('overdue-escalation')
@App:description('An invoice is not paid for 14 days: remind; nothing in the 48 hours after: escalate.')

define stream Invoices (invoice string, payer string, amount double);
define stream Payments (invoice string, amount double);

@sink(type = 'log', prefix = 'REMIND')
define stream Reminders (invoice string, payer string, amount double);

partition with (invoice of Invoices, invoice of Payments)
begin
    from every i = Invoices -> not Payments[amount >= i.amount] for 14 days
    select i.invoice as invoice, i.payer as payer, i.amount as amount
    insert into Reminders;
end;

partition with (invoice of Reminders, invoice of Payments)
begin
    from every r = Reminders -> not Payments[amount >= r.amount] for 48 hours
    select 'overdue' as pattern, r.payer as entity, r.invoice as events, 1.0 as confidence, 'call the payer' as action,
        'nothing came' as result
    insert into Detections;

    from every r = Reminders -> p = Payments[amount >= r.amount] within 48 hours
    select 'overdue' as pattern, r.payer as entity, r.invoice as events, 1.0 as confidence, 'none' as action,
        'paid after the reminder' as result
    insert into Detections;
end;
