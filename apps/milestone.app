@App:name('milestone')
@App:description('Purchases of a customer sum up to more than 100: said once, then the customer is retired.')

define stream Purchases (customer string, amount double);
@PrimaryKey('customer') define table Reached (customer string);

partition with (customer of Purchases)
begin
    from Purchases[not (Reached.customer == customer in Reached)]
    select customer, sum(amount) as total
    having total > 100.0
    insert into Milestones;
end;

from Milestones select customer insert into Reached;
