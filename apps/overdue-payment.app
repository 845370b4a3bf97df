@App:name('overdue-payment')
@App:description('A reminder was sent and nothing was paid for 48 hours: escalate.')

define stream Reminders (invoice string, amount double);
define stream Payments (invoice string, amount double);

partition with (invoice of Reminders, invoice of Payments)
begin
    from every r = Reminders -> not Payments[amount >= r.amount] for 48 hours
    select r.invoice as invoice, r.amount as amount
    insert into Escalations;
end;
