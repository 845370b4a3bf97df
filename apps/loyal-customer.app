@App:name('loyal-customer')
@App:description('Purchases and clicks through one state: a customer with 3 purchases clicks an offer.')

define stream Purchases (customer string, amount double);
define stream Clicks (customer string, offer string);
@PrimaryKey('customer') define table Loyal (customer string, purchases long);

partition with (customer of Purchases)
begin
    from Purchases select customer, count() as purchases insert into Counts;
end;

from Counts[purchases >= 3L]
select customer, purchases
update or insert into Loyal set Loyal.purchases = purchases on Loyal.customer == customer;

from Clicks as c join Loyal as l on c.customer == l.customer
select c.customer as customer, c.offer as offer, l.purchases as purchases
insert into LoyalClicks;
