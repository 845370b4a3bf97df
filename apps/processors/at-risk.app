@App:name('at-risk')
@App:description('Customers who have neither signed in nor bought for seven days, and those who are back')
@App:processor('customers.AtRisk', events = 'sign_in, sale', emits = 'at_risk, back')

@source(type = 'http', path = '/sign-ins', @map(type = 'json'))
define stream sign_in (customer string);
@source(type = 'http', path = '/sales', @map(type = 'json'))
define stream sale (customer string, cents long);

define stream at_risk (customer string, last string);
define stream back (customer string);
