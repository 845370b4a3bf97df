@App:name('churn')
@App:description('Nobody signed in for 7 days: an alarm, once, and the customer is retired until the next sign-in.')

define stream SignIns (customer string);
@PrimaryKey('customer') define table Retired (customer string, since long);

from SignIns delete Retired on Retired.customer == customer;

partition with (customer of SignIns)
begin
    from every s = SignIns -> not SignIns for 7 days
    select s.customer as customer, eventTimestamp() as since
    insert into Churned;
end;

from Churned select customer, since insert into Retired;
