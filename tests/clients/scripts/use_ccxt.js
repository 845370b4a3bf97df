// ccxt in JavaScript: an order is placed, seen and cancelled, and a book comes over the stream.
const fs = require('fs');
const ccxt = require('ccxt');

const [file, exchange, symbol] = process.argv.slice(2);
const settings = JSON.parse(fs.readFileSync(file, 'utf8'))[exchange];

async function main () {
    const client = new ccxt.pro[exchange](settings);
    // without it, ccxt opens no plain ws:// stream
    await client.loadHttpProxyAgent();
    const ids = async () => (await client.fetchOpenOrders(symbol)).map((order) => order.id);
    const streamed = await client.watchOrderBook(symbol);
    const price = client.priceToPrecision(symbol, streamed.bids[0][0] / 2);
    const placed = (await client.createOrder(symbol, 'limit', 'buy', 0.01, parseFloat(price))).id;
    const before = await ids();
    await client.cancelOrder(placed, symbol);
    const after = await ids();
    await client.close();
    console.log(JSON.stringify({ placed, before, after, levels: streamed.bids.length }));
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
