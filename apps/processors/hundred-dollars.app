@App:name('hundred-dollars')
@App:description('Customers whose sales have come to a hundred dollars')
@App:processor('customers.Milestone', events = 'sale', emits = 'milestone')

@source(type = 'http', path = '/sales', @map(type = 'json'))
define stream sale (customer string, cents long);

define stream milestone (customer string, cents long, sales int);
