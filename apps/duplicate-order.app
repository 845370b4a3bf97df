@App:name('duplicate-order')
@App:description('The same order again within a second: same exchange, market, side and amount, another id.')

define stream Orders (order_id string, exchange string, symbol string, side string, amount double);

from every a = Orders -> b = Orders[exchange == a.exchange and symbol == a.symbol and side == a.side
    and amount == a.amount and order_id != a.order_id] within 1 sec
select a.order_id as first_id, b.order_id as second_id, a.exchange as exchange, a.symbol as symbol
insert into Duplicates;
